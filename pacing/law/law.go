// Package law moves the pace of requests to one provider.
//
// A [Law] is told when requests leave and what became of them, and says when
// the next may leave. It is pure: it has no clock, no goroutine and no chance
// of its own, so that a history always ends in the same pace. What it learned
// goes into a [Memory] and comes from there.
//
// The laws differ in how they look for the limit that the provider does not
// tell: see [Laws]. All of them keep two promises: an error never makes the
// pace faster, and an episode of refusals slows it down once, however many
// requests were in flight.
package law

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// The laws of the pace.
const (
	Plateau      = "plateau"       // finds the limit and stays just below it
	AIMD         = "aimd"          // a constant step in rate for each success
	IntervalStep = "interval-step" // a constant step in time for each success
)

// Laws returns the names of the laws, the default first.
func Laws() []string { return []string{Plateau, AIMD, IntervalStep} }

// A Law moves the pace. It has no clock and no goroutine: it is told when
// requests leave and end, and says when the next may leave.
type Law interface {
	// Next returns when the next request may leave, which may be over. If it
	// is not open, it waits for a request in flight to end, and until then at
	// most if that is to come.
	Next(now Moment) (at Moment, open bool)

	// OnSend records that a request leaves whose cost is weight: 1 for most,
	// more for one that the provider counts as several. The pace is in this
	// unit, so the next request waits for so much longer.
	OnSend(now Moment, weight float64) Ticket

	// OnResult records what became of it. Only a success may make the pace
	// faster. It returns how long to send nothing, negative for not at all: as
	// long as o asks for, unless the law knows better when there is more, or enough for one request.
	OnResult(d Ticket, o Outcome, now Moment) (silence time.Duration)

	// Known reports whether the refusal o of d belongs to an episode that has
	// begun, and so says nothing new.
	Known(d Ticket, o Outcome) bool

	Rate() float64  // the pace in requests per second; 0: not paced
	Most() float64  // the highest there can be now
	Latest() uint64 // the id of the latest request

	Keep() Memory // what a later process should know, but for HeardAt

	// Restore continues with what was confirmed last so long ago. It reports
	// whether the pace is believed.
	Restore(m Memory, age time.Duration) bool
}

// New returns the law called name, the default if it is "". It starts at
// start and never goes above ceiling, in requests per second. With a ceiling of
// 0, none is declared: the bound is [Ceiling], and the default law raises it as
// it is earned. Its chance is drawn from random, in [0, 1). An error says that
// there is no such law.
func New(name string, start, ceiling float64, random func() float64) (Law, error) {
	switch name {
	case "", Plateau:
		return newPlateau(start, ceiling, random()), nil
	case AIMD, IntervalStep:
		p := newPacer(interval(start), interval(cmp.Or(ceiling, Ceiling)))
		p.inTime = name == IntervalStep
		return p, nil
	}
	return nil, fmt.Errorf("no law is called %q: there are %s", name, strings.Join(Laws(), ", "))
}

// Unpaced returns the law of a provider that is not paced.
func Unpaced() Law {
	p := newPacer(interval(Start), interval(Ceiling))
	p.off = true
	return p
}

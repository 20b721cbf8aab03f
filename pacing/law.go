package pacing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"collect/collection"
)

// The laws of the pace.
const (
	Plateau      = "plateau"       // finds the limit and stays just below it
	AIMD         = "aimd"          // a constant step in rate for each success
	IntervalStep = "interval-step" // a constant step in time for each success
)

// Laws returns the names of the laws, the default first.
func Laws() []string { return []string{Plateau, AIMD, IntervalStep} }

// A law moves the pace. It has no clock and no goroutine: it is told when
// requests leave and end, and says when the next may leave.
type law interface {
	// next returns when the next request may leave; the zero time if it may
	// at once. If it is not open, it waits for a request in flight to end.
	next(now time.Time) (at time.Time, open bool)

	// onSend records that a request leaves.
	onSend(now time.Time) ticket

	// onResult records what became of it. Only a success may make the pace
	// faster.
	onResult(d ticket, o outcome, now time.Time)

	// known reports whether the refusal o of d belongs to an episode that has
	// begun, and so says nothing new.
	known(d ticket, o outcome) bool

	rate() float64  // the pace in requests per second; 0: not paced
	most() float64  // the highest there can be
	latest() uint64 // the id of the latest request

	keep(k *kept)                  // notes what a later process should know
	restore(k kept, now time.Time) // continues with it
}

// A ticket is the permission of an attempt that leaves.
type ticket struct {
	id       uint64 // from 1, rising
	bound    bool   // the pace is what held it back
	at       time.Time
	inFlight int // requests in flight when it left, with this one
}

// newLaw returns the law called name for p.
func newLaw(name string, p collection.Provider) (law, error) {
	names := Laws()
	if name == "" {
		name = names[0]
	}
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("provider %s: no law is called %q: there are %s", p.Name, name, strings.Join(names, ", "))
	}
	start, floor := startInterval, floorInterval
	if p.StartPerSecond > 0 {
		start = time.Duration(float64(time.Second) / p.StartPerSecond)
	}
	if ceiling := strictest(p.Ceilings); ceiling > 0 {
		floor = ceiling
	}
	if name == Plateau && !p.Unpaced {
		return newPlateau(perSecond(start), perSecond(floor), rand.Float64()), nil
	}
	additive := newPacer(start, floor)
	additive.off, additive.inTime = p.Unpaced, name == IntervalStep
	return additive, nil
}

// perSecond returns the rate of an interval.
func perSecond(interval time.Duration) float64 { return float64(time.Second) / float64(interval) }

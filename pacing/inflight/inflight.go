// Package inflight bounds the requests that are in flight to one provider.
//
// A [Limiter] grants slots up to a limit, and moves the limit by what becomes
// of the requests. It is only a ceiling: how fast requests leave is decided
// elsewhere, and a slot is taken when its request leaves and not while it
// waits. It is pure: it has no clock, no goroutine and no line.
package inflight

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The laws that move the limit.
const (
	Fixed    = "fixed"    // it stays at the maximum
	AIMD     = "aimd"     // one more after a run of successes, half after a refusal
	MIMD     = "mimd"     // half as much again after a run of successes, half after a refusal
	Gradient = "gradient" // follows the round-trip time
)

// Laws returns the names of the laws.
func Laws() []string { return []string{Fixed, AIMD, MIMD, Gradient} }

// Needed is the law where nothing is declared: as many as the pace needs. The
// pace must be told to it: see [Limiter.Pace].
const Needed = "needed"

// The laws that throttlekit has beside, for a budget that processes share
// (pacing/coordinator); a connector cannot declare them.
const (
	LatencyAIMD  = "latency_aimd" // one more for each quick answer, nine tenths after a slow one or a refusal
	Recalibrated = "recalibrated" // the gradient, whose shortest round-trip time is measured anew without queues
)

// Most is the highest maximum: a file descriptor for each, and no provider of
// records that grants more is known.
const Most = 512

// A Limiter bounds the requests in flight. It is not safe for concurrent use.
type Limiter struct {
	law      mover   // nil: the limit stays
	needed   *needed // the law, if it is that; nil: it is another
	most     int
	scarce   float64 // the share of the limit that is left in force; 1: all of it
	inFlight int
	sent     uint64 // slots granted
	fence    uint64 // of them before the last decrease

	grants []uint64 // by slot: the grant that holds it; 0: none does
	free   []int    // slots that are not held
}

// A mover moves a limit. It is told of answers and refusals.
type mover interface {
	limit() int
	bound(most int)
	answered(rtt time.Duration, inFlight int)
	refused()
}

// New returns a limiter of at most most requests in flight. The law called name
// moves it; it stays if name is "". An error says which argument is wrong.
func New(name string, most int) (*Limiter, error) {
	if most < 1 || most > Most {
		return nil, fmt.Errorf("%d requests in flight: there can be 1 to %d", most, Most)
	}
	l := &Limiter{most: most, scarce: 1}
	switch name {
	case "", Fixed:
	case AIMD, MIMD:
		l.law = &steps{most: most, now: most, multiply: name == MIMD}
	case Gradient:
		l.law = newGradient(most)
	case Recalibrated:
		l.law = newRecalibrated(most)
	case LatencyAIMD:
		l.law = newLatencySteps(most)
	case Needed:
		l.needed = &needed{most: most, now: 1}
		l.law = l.needed
	default:
		return nil, fmt.Errorf("no law of requests in flight is called %q: there are %s", name, strings.Join(Laws(), ", "))
	}
	return l, nil
}

// A Slot is the permission for one request in flight. The zero Slot holds
// nothing.
type Slot struct {
	grant    uint64
	index    int32
	inFlight int32 // with this one
}

// Index returns the number of s, which no other slot has that is held at the
// same time. It is below the most that were ever held at once.
func (s Slot) Index() int { return int(s.index) }

// Limit returns how many may be in flight now: what the law says, and less if
// the provider announced that little is left.
func (l *Limiter) Limit() int {
	limit := l.most
	if l.law != nil {
		limit = l.law.limit()
	}
	if l.scarce < 1 {
		limit = int(float64(limit) * l.scarce)
	}
	return max(1, min(l.most, limit))
}

// InFlight returns how many slots are held, and Max how many there can be.
func (l *Limiter) InFlight() int { return l.inFlight }
func (l *Limiter) Max() int      { return l.most }

// Room reports whether a slot can be had.
func (l *Limiter) Room() bool { return l.inFlight == 0 || l.inFlight < l.Limit() }

// Bound makes most the highest limit. Requests in flight beyond it are not recalled.
func (l *Limiter) Bound(most int) {
	if most = max(1, min(most, Most)); most == l.most {
		return
	}
	l.most = most
	if l.law != nil {
		l.law.bound(most)
	}
}

// Take takes a slot, whether there is room or not: a request may be on its way
// already.
func (l *Limiter) Take() Slot {
	l.sent++
	l.inFlight++
	index := len(l.grants)
	if n := len(l.free); n > 0 {
		index, l.free = l.free[n-1], l.free[:n-1]
	} else {
		l.grants = append(l.grants, 0)
	}
	l.grants[index] = l.sent
	return Slot{grant: l.sent, index: int32(index), inFlight: int32(l.inFlight)}
}

// An Outcome is what became of a request, as far as a limiter is concerned.
type Outcome uint8

const (
	Silent   Outcome = iota // nothing: it was cancelled, or failed for another reason
	Answered                // it was answered, in the round-trip time given
	Refused                 // the provider asked for less
)

// Release gives s back. A slot that was given back before changes nothing.
//
// What was in flight together is refused together: only the first of the
// refusals lowers the limit, until a request that left after it is refused.
func (l *Limiter) Release(s Slot, o Outcome, rtt time.Duration) {
	if s.grant == 0 || l.grants[s.index] != s.grant {
		return
	}
	l.grants[s.index] = 0
	l.free = append(l.free, int(s.index))
	l.inFlight--
	switch {
	case l.law == nil:
	case o == Answered, l.needed != nil && rtt > 0: // what is lost held its slot as well, and for longer
		l.law.answered(rtt, int(s.inFlight))
	case o == Refused && s.grant > l.fence:
		l.fence = l.sent
		l.law.refused()
	}
}

// The proactive throttle of promptfoo's scheduler: from a tenth of the limit
// on, what may be in flight shrinks to a fifth as the rest does to nothing.
const (
	scarceBelow = 0.1
	scarceLeast = 0.2
	scarceSpan  = 0.4
)

// Paced reports whether the limit depends on the pace.
func (l *Limiter) Paced() bool { return l.needed != nil }

// Pace tells the pace, in requests per second, on which the limit depends.
func (l *Limiter) Pace(rate float64) {
	l.needed.pace = rate
	l.needed.set()
}

// Left notes the share of a limit that the provider said is left: under a
// tenth, fewer may be in flight until more is left again. A share that is no
// number says nothing.
func (l *Limiter) Left(share float64) {
	switch {
	case math.IsNaN(share):
	case share < scarceBelow:
		l.scarce = scarceLeast + max(0, share)/scarceBelow*scarceSpan
	default:
		l.scarce = 1
	}
}

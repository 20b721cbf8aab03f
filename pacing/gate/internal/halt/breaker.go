// Package halt stops all requests to a provider: a breaker while it does not work,
// a freeze while it refuses the account, and either of them while an operator
// wants it.
package halt

import (
	"fmt"
	"time"

	"collect/collection"
	"collect/internal/times"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// The breaker opens when the latest outcomes hold five more bad ones than good ones: fewer are no
// evidence, so a cold start cannot open it. One request in eight may fail for ever: that opens it once
// in 20,000 requests. The latest are those of the requests that left last, whenever they ended: some hang for half
// a minute, and what left after them and was answered says that the provider works. It stays open for 10 s, as most
// outages are short: a new version that starts, a network that comes back. Each probe that fails
// doubles that, from when it left, up to a minute and a half: so a provider that comes back is asked
// within two minutes, also if each probe hangs. A limit that lasts is the law's.
const (
	breakerWindow  = 16 // outcomes that are known
	breakerBad     = 5  // more bad ones than good ones
	breakerOpen    = 10 * time.Second
	breakerLongest = 90 * time.Second
)

// The states of a breaker.
const (
	Closed   = "closed"
	Open     = "open"
	HalfOpen = "half_open"
)

// A Breaker stops calls to a provider that does not work:
//
//	         far more bad than good               until
//	closed ──────────────────────────→ open ───────────────→ half_open
//	  ↑                                  ↑                     │   │
//	  │                                  └──── probe failed ───┘   │
//	  └───────────────────────── probe answered ───────────────────┘
//
// Half open, one request is on its way as a probe and the others wait for it.
//
// An operator can force it open or closed. Then no outcome is counted, and
// nothing but the operator leaves that state.
type Breaker struct {
	State   string
	Forced  *Forced
	latest  [breakerWindow]outcome // of the requests that left last, in the order of departure
	known   uint8                  // outcomes that there are
	Probing bool                   // a probe is in flight
	trips   int32                  // in a row without closing for as long as it had been open
	Until   law.Moment
	closed  law.Moment // when it last closed
	asked   law.Moment // when the latest probe left
	Failure Failure
	Fence   uint64 // the id of the latest request that was sent before the last transition
}

// A Failure is what opened the breaker. It is zero if nobody noted it: an
// operator opened the breaker, or a version that did not.
type Failure struct {
	At     time.Time `json:"at"`            // of the latest bad outcome that counted
	Why    string    `json:"why,omitempty"` // what that was, in a few words without secrets; "": not said
	Bad    int       `json:"bad"`           // outcomes that were bad
	Of     int       `json:"of"`            // outcomes in all
	Probes int       `json:"probes,omitempty"`
}

// Words say it in a line, with At as its reader reads times; "" if nobody noted
// it. Nothing of it is longer than our own words and the name of a host.
func (f Failure) Words(at string) string {
	if f.At.IsZero() {
		return ""
	}
	text := fmt.Sprintf("%d of the last %d requests failed", f.Bad, f.Of)
	switch {
	case f.Probes == 1:
		text += ", and so did a probe"
	case f.Probes > 1:
		text += fmt.Sprintf(", and so did %d probes", f.Probes)
	}
	text += "; the latest at " + at
	if f.Why != "" {
		text += ": " + f.Why
	}
	return text
}

// Told is what the stop of a run says of it, which outlives the run.
func (f Failure) Told() string { return f.Words(f.At.UTC().Format("2006-01-02 15:04 UTC")) }

// OnSend notes that the attempt id leaves. probe says that it is the probe.
func (b *Breaker) OnSend(id uint64, now law.Moment) (probe bool, change *collection.BreakerInfo) {
	if b.State == Closed || b.Forced != nil {
		return false, nil
	}
	b.Probing, b.asked = true, now
	if b.State == Open {
		change = b.turn(HalfOpen, "reset_timeout", "before_request", id-1)
	}
	return true, change
}

// OnResult counts the outcome of the attempt id. What left before the last
// transition says nothing about the time after it.
func (b *Breaker) OnResult(id uint64, probe bool, s law.Signal, sent uint64, now law.Moment) *collection.BreakerInfo {
	if probe {
		b.Probing = false
	}
	if id <= b.Fence || s == law.Silent || b.Forced != nil || b.State != Closed && !probe {
		return nil
	}
	bad := s == law.Throttled || s == law.Failed
	why := "success"
	switch s {
	case law.Throttled:
		why = "provider_throttle"
	case law.Failed:
		why = "provider_failure"
	}
	if probe {
		if bad {
			b.Failure.Probes++
			b.trip(b.asked)
			return b.turn(Open, why, why, sent)
		}
		b.closed, b.Failure = now, Failure{}
		return b.turn(Closed, why, why, sent)
	}
	b.Count(id, bad)
	if !bad {
		return nil
	}
	wrong, of := b.worst()
	if 2*wrong-of < breakerBad {
		return nil
	}
	b.Failure = Failure{Bad: wrong, Of: of}
	b.trip(now)
	return b.turn(Open, why, why, sent)
}

// An outcome is the lowest bits of the id of a request, which tell the order of those in flight, and in the last bit
// whether it was bad.
type outcome uint16

// before reports whether the request of o left before that of other.
func (o outcome) before(other outcome) bool { return int16(o-other) < 0 }

// Count notes the outcome of the request id in its place.
func (b *Breaker) Count(id uint64, bad bool) {
	o := outcome(id << 1)
	if bad {
		o++
	}
	if b.known == breakerWindow {
		copy(b.latest[:], b.latest[1:])
		b.known--
	}
	i := b.known
	for ; i > 0 && o.before(b.latest[i-1]); i-- {
		b.latest[i] = b.latest[i-1]
	}
	b.latest[i] = o
	b.known++
}

// worst returns how many of the latest outcomes are bad, of as many as make the most more bad ones than good ones.
func (b *Breaker) worst() (bad, of int) {
	count, most := 0, 0
	for n := 1; n <= int(b.known); n++ {
		count += int(b.latest[int(b.known)-n] & 1)
		if 2*count-n > most {
			most, bad, of = 2*count-n, count, n
		}
	}
	return bad, of
}

// Blame notes what the latest of the outcomes that opened it was.
func (b *Breaker) Blame(change *collection.BreakerInfo, why string, at time.Time) {
	if change.State == Open {
		b.Failure.At, b.Failure.Why = timeline.Saved(at), why
		change.Detail = why
	}
}

// trip opens it for a while from a moment on: one that opens again soon after it closed goes on
// where it was.
func (b *Breaker) trip(from law.Moment) {
	if b.State == Closed && b.trips > 0 && from-b.closed > opened(b.trips) {
		b.trips = 0
	}
	b.trips++
	b.Until = from + opened(b.trips)
}

// opened returns for how long a breaker is open that tripped so many times.
func opened(trips int32) time.Duration { return min(breakerLongest, breakerOpen<<min(trips-1, 6)) }

func (b *Breaker) turn(to, reason, trigger string, sent uint64) *collection.BreakerInfo {
	change := &collection.BreakerInfo{Previous: b.State, State: to, Reason: reason, Trigger: trigger}
	b.State, b.Fence, b.known = to, sent, 0
	return change
}

// A Forced is the state in which an operator holds the breaker.
type Forced struct {
	To   string    `json:"to"` // Open or Closed
	Note string    `json:"note,omitempty"`
	At   time.Time `json:"at"`

	Until time.Time `json:"until,omitzero"` // zero: until an operator releases it
}

// ended reports whether f has ended by itself.
func (f *Forced) ended(now time.Time) bool { return !f.Until.IsZero() && !f.Until.After(now) }

// Ends returns when the hold on b ends by itself; the zero time if it does not.
func (b *Breaker) Ends() time.Time {
	if b.Forced == nil {
		return time.Time{}
	}
	return b.Forced.Until
}

// Lift ends the hold of an operator. If it was held open, the next request is a probe.
func (b *Breaker) Lift(now law.Moment) {
	b.Forced, b.Until = nil, now
}

// same reports whether f is g: of the same order, or none.
func (f *Forced) same(g *Forced) bool {
	return f == g || f != nil && g != nil && f.To == g.To && f.Note == g.Note && times.Same(f.At, g.At) && times.Same(f.Until, g.Until)
}

// Words say that an operator did it.
func (f *Forced) Words() string {
	if f.Note == "" {
		return "an operator holds the breaker " + f.To
	}
	return "an operator holds the breaker " + f.To + ": " + f.Note
}

// A KeptBreaker is the saved form of a breaker that is not closed, or forced.
type KeptBreaker struct {
	Until   time.Time `json:"until"`
	Trips   int       `json:"trips"`
	Forced  *Forced   `json:"forced,omitempty"`
	Failure *Failure  `json:"failure,omitempty"` // nil: not noted
}

// force returns what an operator holds the breaker by; nil if nobody does.
func (k *KeptBreaker) force() *Forced {
	if k == nil {
		return nil
	}
	return k.Forced
}

// Keep returns b as it is saved; nil if it is closed, and not by an operator.
func (b *Breaker) Keep(clock *timeline.Timeline) *KeptBreaker {
	if b.State == Closed && b.Forced == nil {
		return nil
	}
	k := &KeptBreaker{Until: clock.Kept(b.Until), Trips: int(b.trips), Forced: b.Forced}
	if !b.Failure.At.IsZero() {
		k.Failure = new(b.Failure)
	}
	return k
}

// NewBreaker returns a breaker that goes on from k: a closed one for nil. If it was
// open, or half open with a probe whose outcome nobody knows, the next request is
// the probe.
func NewBreaker(k *KeptBreaker, clock *timeline.Timeline) Breaker {
	switch {
	case k == nil:
		return Breaker{State: Closed}
	case k.Forced != nil && k.Forced.To != Open:
		return Breaker{State: Closed, Forced: k.Forced}
	}
	b := Breaker{State: Open, Until: clock.Of(k.Until), trips: int32(min(max(1, k.Trips), 6)), Forced: k.Forced}
	if k.Failure != nil {
		b.Failure = *k.Failure
	}
	return b
}

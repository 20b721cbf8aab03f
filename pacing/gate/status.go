package gate

import (
	"cmp"
	"time"

	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
)

// The states of a breaker.
const (
	Closed   = halt.Closed
	Open     = halt.Open
	HalfOpen = halt.HalfOpen
)

// A Failure is what opened a breaker.
type Failure = halt.Failure

// A Status says how things stand with a provider, for people.
type Status struct {
	PerSecond float64   // the pace in force; 0: not paced, or not known
	Learned   float64   // the pace that a later process goes on from; 0: not known
	Ceiling   *float64  // the strictest pace the owner allows; nil: none declared
	HeardAt   time.Time // when the provider last confirmed the pace; zero: never
	HoldUntil time.Time // the provider asked for silence until then; zero: it did not

	Breaker     string    // closed, open or half_open
	OpenUntil   time.Time // when the breaker lets a probe out; zero: it is closed, or only an operator does
	Failure     Failure   // what opened it; zero: it is closed, or that was not noted
	Forced      bool      // an operator holds the breaker in this state
	ForcedNote  string    // why, in the operator's words
	ForcedSince time.Time

	Frozen       bool
	FreezeReason string    // "operator" if an operator did it
	FreezeNote   string    // why, in the operator's words
	FrozenUntil  time.Time // when one test request may go out; zero: only an operator releases it

	Constraints []Constraint // all that limit the pace, in a fixed order; one of them binds
}

// Status returns how things stand at now.
func (g *Gate) Status(at time.Time) Status {
	now := g.clock.Moment(at)
	bound := g.Most()
	if g.unpaced {
		bound = 0
	}
	return g.status(picture{rate: g.Rate(), bound: bound, usage: g.usage(), recorded: at}, now)
}

func (g *Gate) status(p picture, now law.Moment) Status {
	s := Status{
		PerSecond: p.rate, HeardAt: g.routes.All[0].Memory(&g.clock).HeardAt, Ceiling: g.perSecond(), HoldUntil: g.clock.Ahead(g.hold, now),
		Breaker: g.breaker.State, OpenUntil: g.OpenUntil(), Failure: g.breaker.Failure,
	}
	for _, r := range g.routes.All {
		s.Learned += r.Memory(&g.clock).PerSecond()
	}
	if p.bound > 0 {
		s.Learned = min(s.Learned, p.bound)
	}
	if f := g.breaker.Forced; f != nil {
		s.Forced, s.ForcedNote, s.ForcedSince = true, f.Note, f.At
	}
	if g.freeze.Frozen {
		s.Frozen, s.FreezeReason, s.FreezeNote, s.FrozenUntil = true, g.freeze.Reason, g.freeze.Note, g.freeze.Ends(&g.clock)
	}
	s.Constraints = g.constraints(s, p, now)
	return s
}

// perSecond returns the ceiling; nil if there is none.
func (g *Gate) perSecond() *float64 {
	if g.ceiling == 0 {
		return nil
	}
	ceiling := g.ceiling
	return &ceiling
}

// Inspect returns how things stood when state was saved, seen at now. It
// fails if state cannot be read.
func Inspect(state []byte, now time.Time) (Status, error) {
	k, err := parseState(state, now)
	if err != nil {
		return Status{}, err
	}
	g := Gate{ceiling: k.Ceiling}
	at := g.clock.Moment(now)
	g.hold, g.reserve, g.share = g.clock.Of(k.Hold), g.clock.Of(k.Reserve), k.Share
	g.clamp = k.Clamp.Seen(&g.clock)
	g.routes = route.Seen(k.Routes, &k.Memory, &g.clock)
	bound := 0.0
	for _, r := range g.routes.All {
		m := r.Memory(&g.clock)
		bound = max(bound, m.Earned())
	}
	g.breaker, g.freeze = halt.NewBreaker(k.Breaker, &g.clock), halt.NewFreeze(k.Freeze, &g.clock)
	g.windows = ceiling.Seen(k.Windows, &g.clock, at)
	return g.status(picture{k.PerSecond(), cmp.Or(k.Ceiling, bound), k.Usage, k.RecordedAt}, at), nil
}

// Rate returns the learned pace in requests per second, of all routes that
// requests left by; 0 if there is none.
func (g *Gate) Rate() float64 {
	sum := 0.0
	for _, r := range g.routes.All {
		if r.Used {
			sum += r.Pace.Rate()
		}
	}
	return min(cmp.Or(sum, g.routes.All[0].Pace.Rate()), g.Most())
}

// Most returns the highest rate there can be now. Where none is declared, it is
// the highest that any route earned.
func (g *Gate) Most() float64 {
	most := 0.0
	for _, r := range g.routes.All {
		most = max(most, r.Pace.Most())
	}
	return most
}

// Concurrency returns how many requests may be in flight at once.
func (g *Gate) Concurrency() int { return g.slots.Limit() }

// Closed reports whether the breaker is.
func (g *Gate) Closed() bool { return g.breaker.State == halt.Closed }

// OpenUntil returns when the breaker lets a probe out; the zero time if it is
// closed, or only an operator does.
func (g *Gate) OpenUntil() time.Time {
	if g.Closed() || g.breaker.Forced != nil {
		return time.Time{}
	}
	return g.clock.When(g.breaker.Until)
}

// HoldUntil returns until when the provider asked for silence; the zero time
// if it did not.
func (g *Gate) HoldUntil(now time.Time) time.Time {
	return g.clock.Ahead(g.hold, g.clock.Moment(now))
}

// usage returns how the latest requests used what they were allowed. Of several
// routes it is the slowest that is held back.
func (g *Gate) usage() *usage.Kept {
	if g.sent == 0 || g.sent < usage.Least && g.usedBefore != nil {
		return g.usedBefore
	}
	k := &usage.Kept{PerSecond: g.pulse.PerSecond(g.sent, g.left), InFlight: g.slots.Limit(), Latency: g.pulse.Latency}
	slowest := 0.0
	for i, r := range g.routes.All {
		held := r.Usage.Held()
		switch rate := r.Pace.Rate(); {
		case held == usage.Unknown:
		case held == usage.ByTime && (k.Held != usage.ByTime || rate < slowest):
			k.Held, k.Route, slowest = usage.ByTime, i, rate
		case held == usage.BySlot && k.Held != usage.ByTime, k.Held == usage.Unknown:
			k.Held = held
		}
	}
	// Where there are as many workers as slots, none waits for one. What is in
	// flight is how many leave times how long each is on its way (Little's law).
	if k.Held == usage.ByNothing && k.PerSecond*k.Latency.Seconds() >= full*float64(g.slots.Max()) {
		k.Held = usage.BySlot
	}
	return k
}

// full is the share of the slots that are in use on average when they are what
// limits the pace.
const full = 0.8

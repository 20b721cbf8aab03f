package gate

import (
	"cmp"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/route"
	"collect/pacing/law"
)

// Status returns how things stand at now.
func (g *Gate) Status(at time.Time) Status {
	now := g.now(at)
	bound := g.Most()
	if g.unpaced {
		bound = 0
	}
	return g.status(picture{rate: g.Rate(), paces: g.paces(), bound: bound, usage: g.usage(now), recorded: at}, now)
}

func (g *Gate) status(p picture, now law.Moment) Status {
	s := Status{
		PerSecond: p.rate, HeardAt: g.routes.All[0].Memory(&g.clock).HeardAt, HoldUntil: g.clock.Ahead(g.hold, now),
		RejectedAt: g.rejectedAt(), Breaker: g.breaker.State, OpenUntil: g.OpenUntil(), Failure: g.breaker.Failure,
	}
	if g.ceiling > 0 {
		s.Ceiling = new(g.allowed())
	}
	s.Announced = slices.Clone(g.heard.quotas())
	for _, r := range g.routes.All {
		m := r.Memory(&g.clock)
		charge(s.Announced, &m)
		s.Learned += m.PerSecond()
		s.Asks = s.Asks || g.asks(r, now)
		s.Begins += g.fresh.begins(g.ceiling, m, route.Ago(&m, p.recorded, g.clock.Now()))
	}
	if len(g.routes.All) == 1 {
		s.Trial = g.routes.All[0].Memory(&g.clock).Trial()
	}
	if p.bound > 0 {
		s.Learned, s.Begins, s.Trial = min(s.Learned, p.bound), min(s.Begins, p.bound), min(s.Trial, p.bound)
	}
	if f := g.breaker.Forced; f != nil {
		s.Forced, s.ForcedNote, s.ForcedSince, s.ForcedUntil = true, f.Note, f.At, f.Until
	}
	if s.Released = g.freeze.Released; g.freeze.Frozen && !s.Released {
		s.Frozen, s.FreezeReason, s.FreezeNote, s.FrozenUntil = true, g.freeze.Reason, g.freeze.Note, g.freeze.Ends(&g.clock)
	}
	if p.usage != nil {
		s.Ended, s.Failed = p.usage.Ended, p.usage.Failed
	}
	s.Processes, s.Routes = g.parties.count(), len(g.routes.All)
	s.Constraints = g.constraints(s, p, now)
	return s
}

// charge notes what one request takes of the limit that m knows it of.
func charge(all []Quota, m *law.Memory) {
	name, limit, each := m.Charge()
	for i := range all {
		if q := &all[i]; q.Name == name && q.Limit == limit {
			q.Each = max(q.Each, each)
		}
	}
}

// Inspect returns how things stood when state was saved, seen at now. It
// fails if state cannot be read.
func Inspect(state []byte, now time.Time) (Status, error) {
	k, err := parseState(state, now)
	if err != nil {
		return Status{}, err
	}
	g := Gate{ceiling: k.Ceiling, fresh: &k.fresh, heard: &heard{k.Announced}}
	at := g.clock.Moment(now)
	g.hold, g.basis, g.reserve, g.share = g.clock.Of(k.Hold), k.Basis, g.clock.Of(k.Reserve), k.Share
	g.restoreRejected(k.Rejected)
	g.clamp = k.Clamp.Seen(&g.clock)
	g.routes = route.Seen(k.Routes, &k.Memory, &g.clock)
	bound := 0.0
	for _, r := range g.routes.All {
		m := r.Memory(&g.clock)
		bound = max(bound, m.Earned())
	}
	g.breaker, g.freeze = halt.NewBreaker(k.Breaker, &g.clock), halt.NewFreeze(k.Freeze, &g.clock)
	g.windows = ceiling.Seen(k.Windows, &g.clock, at)
	g.give(k.Budgets, k.Ask)
	g.lift(at)
	p := picture{0, k.Paces, cmp.Or(k.Ceiling, bound), k.Usage, k.RecordedAt}
	for _, rate := range k.Paces {
		p.rate += rate
	}
	p.rate = cmp.Or(p.rate, k.PerSecond())
	if p.bound > 0 {
		p.rate = min(p.rate, p.bound)
	}
	s := g.status(p, at)
	s.SavedAt, s.Processes = k.RecordedAt, k.Processes
	return s, nil
}

// Closed reports whether the breaker is.
func (g *Gate) Closed() bool { return g.breaker.State == halt.Closed }

// OpenUntil returns when the breaker lets a probe out; the zero time if it is
// closed, or only an operator does.
func (g *Gate) OpenUntil() time.Time {
	switch {
	case g.Closed():
		return time.Time{}
	case g.breaker.Forced != nil:
		return g.breaker.Forced.Until
	}
	return g.clock.When(g.breaker.Until)
}

// HoldUntil returns until when the provider asked for silence; the zero time
// if it did not.
func (g *Gate) HoldUntil(now time.Time) time.Time {
	return g.clock.Ahead(g.hold, g.clock.Moment(now))
}

// nameBinding says in changes of the rate what binds after all of them.
func (g *Gate) nameBinding(changes []collection.Event, at time.Time) {
	for _, e := range changes {
		if e.Rate != nil {
			e.Rate.Binds = g.Status(at).Binding()
		}
	}
}

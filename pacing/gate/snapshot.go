package gate

import (
	"encoding/json"
	"time"

	"collect/pacing/gate/internal/halt"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// Snapshot returns what must be known of the gate in a later process.
func (g *Gate) Snapshot(at time.Time) []byte {
	now := g.now(at)
	k := kept{
		Version:    stateVersion,
		RecordedAt: timeline.Saved(at),
		Memory:     g.routes.All[0].Memory(&g.clock),
		Ceiling:    g.ceiling,
		orders:     g.orders(),
		Hold:       g.clock.KeptAhead(g.hold, now),
		Reserve:    g.clock.KeptAhead(g.reserve, now),
		Share:      g.share,
		Rejected:   timeline.Saved(g.rejectedAt()),
		Clamp:      g.clamp.Keep(&g.clock),
		Routes:     g.routes.Keep(&g.clock, now),
		Quotas:     g.quotas.keep(&g.clock),
		Usage:      g.usage(now),
		Windows:    g.windows.Keep(&g.clock, now),
	}
	if !k.Hold.IsZero() {
		k.Basis = g.basis
	}
	k.fresh, k.Paces, k.Announced = *g.fresh, g.paces(), g.heard.quotas()
	k.Processes = g.parties.count()
	if k.Tried = g.routes.Tried(); g.settled {
		k.Left = g.clock.Kept(g.left)
	}
	state, err := json.Marshal(k)
	if err != nil {
		panic(err) // numbers and times of this century always marshal
	}
	return state
}

// SettleUp gives back what the windows have reserved, because the process
// ends: the next snapshot has only what has left, and when the latest did.
func (g *Gate) SettleUp() {
	g.settled = true
	g.windows.Settle()
}

// longAgo is before anything that matters to a pace.
const longAgo = 24 * time.Hour

// follow makes the pace go on after left, when the latest request of the runs
// before left: the first of this one waits for no more. It is now if that is not
// known, as after a crash: a process that dies and is started again and again is
// no faster than the pace. So before a request leaves, what is saved must not say
// any more that none has.
func (g *Gate) follow(left, now law.Moment) {
	g.left = left
	for _, r := range g.routes.All {
		rate := r.Pace.Rate()
		if rate == 0 {
			continue
		}
		// A law knows no request of before it: it waits an interval from when it
		// is first asked.
		interval := law.Moment(float64(time.Second) / rate)
		r.Pace.Next(now - min(now-left, interval))
		g.settled = g.settled || left < now
	}
}

// Restore continues with a saved state; without one, as a gate that nothing has
// left by yet. After an error nothing has changed.
func (g *Gate) Restore(state []byte, now time.Time) error {
	if len(state) == 0 {
		since := g.clock.Moment(now)
		g.follow(since-longAgo, since) // nothing ever left
		return nil
	}
	k, err := parseState(state, now)
	if err != nil {
		return err
	}
	since := g.clock.Moment(now)
	g.calm, g.usedBefore = false, k.Usage
	g.routes.All[0].Restore(k.Memory, &g.clock, k.RecordedAt, now)
	g.hold, g.basis = g.clock.Of(k.Hold), k.Basis
	if n := len(k.Announced); n > 0 {
		g.heard = &heard{k.Announced[:min(n, mostAnnounced)]}
	}
	if g.share < k.Share { // less is for people now
		k.Reserve = time.Time{}
		for i := range k.Routes {
			k.Routes[i].Reserve = time.Time{}
		}
	}
	g.reserve = g.clock.Of(k.Reserve)
	g.restoreRejected(k.Rejected)
	g.clamp.Restore(k.Clamp, since)
	g.quotas.restore(k.Quotas, &g.clock)
	g.routes.Restore(k.Routes, k.Tried, &g.clock, k.RecordedAt, now)
	g.breaker, g.freeze = halt.NewBreaker(k.Breaker, &g.clock), halt.NewFreeze(k.Freeze, &g.clock)
	g.windows.Restore(k.Windows, &g.clock, since)
	g.give(k.Budgets, k.Ask)
	g.lift(since)
	left := since
	if !k.Left.IsZero() {
		left = g.clock.Of(k.Left)
	}
	g.follow(left, since)
	return nil
}

// Obey carries out an operator's order. What is in flight says nothing about
// the breaker after it. It fails if the order cannot be read, and with
// [ErrStale] if it would release something else than its giver saw: a refusal
// that came after the look is not lifted.
func (g *Gate) Obey(order []byte, now time.Time) error {
	k, err := parseState(order, now)
	if err != nil {
		return err
	}
	at := g.now(now)
	stands, err := parseState(g.Snapshot(now), now)
	if err != nil {
		return err
	}
	was := stands.orders
	is, err := k.amend(&stands, now)
	if err != nil {
		return err
	}
	if is.Breaker != was.Breaker {
		g.breaker = halt.NewBreaker(is.Breaker, &g.clock)
	}
	if is.released(was) || k.forgives() {
		g.forgive()
	}
	if is.Freeze != was.Freeze {
		testing := g.freeze.Testing
		g.freeze = halt.NewFreeze(is.Freeze, &g.clock)
		g.freeze.Testing = testing && g.freeze.Frozen
	}
	g.breaker.Fence, g.freeze.Fence = g.sent, g.sent
	g.give(is.Budgets, is.Ask)
	g.lift(at)
	g.calm = false
	return nil
}

// orders returns what stands of the orders of operators, and what stops everything.
func (g *Gate) orders() orders {
	is := g.ordered()
	return orders{halt.Kept{Breaker: g.breaker.Keep(&g.clock), Freeze: g.freeze.Keep(&g.clock)}, is.budgets, is.ask}
}

// forgive forgets the paces at which the account was refused.
func (g *Gate) forgive() {
	for _, r := range g.routes.All {
		r.Pace.Forgive()
	}
}

package gate

import (
	"slices"
	"time"

	"collect/internal/times"
	"collect/pacing/gate/internal/route"
	"collect/pacing/law"
)

// An ask is the order of a person who knows that the provider has granted more: one request
// may leave before the end of a silence. The silence stays until that request is answered
// well, so all others wait; if it is refused, they go on to wait.
type ask struct {
	At   time.Time `json:"at"`             // which tells one from the next
	Left bool      `json:"left,omitempty"` // its request has, or a refusal came before it, which its giver did not see
}

// pending reports whether the request of a may leave yet.
func (a *ask) pending() bool { return a != nil && !a.Left }

// same reports whether a is b, left or not.
func (a *ask) same(b *ask) bool {
	return a == b || a != nil && b != nil && times.Same(a.At, b.At)
}

// endAsk ends the order to ask, if its request has not left.
func (g *Gate) endAsk() {
	if is := g.ordered(); is.ask.pending() {
		g.give(is.budgets, &ask{is.ask.At, true})
	}
}

// asks reports whether a request that leaves by way at now is the one that asks.
func (g *Gate) asks(way *route.Route, now law.Moment) bool {
	if !g.ordered().ask.pending() {
		return false
	}
	at, m := g.clock.When(now), way.Memory(&g.clock)
	return max(g.hold, way.Hold, g.reserve, way.Reserve) > now || m.Backoff(route.Ago(&m, at, at)) > 0
}

// askAnswered ends the silence of all, and that of way, because the request that asked was
// answered well. What its answer asks for comes after it. It reports whether there was one.
func (g *Gate) askAnswered(way *route.Route, now law.Moment) bool {
	silent := max(g.hold, way.Hold, g.reserve, way.Reserve) > now
	g.hold, g.basis, g.reserve = 0, nil, 0
	way.Hold, way.Basis, way.Reserve = 0, nil, 0
	return silent
}

// silentUntil returns when the last of the silences ends that were asked for.
func (k *kept) silentUntil() time.Time {
	ends := []time.Time{k.Hold, k.Reserve}
	for _, r := range k.Routes {
		ends = append(ends, r.Hold, r.Reserve)
	}
	return slices.MaxFunc(ends, time.Time.Compare)
}

// silent reports whether nothing is to leave yet at now, by one of the routes or by all: a
// silence that was asked for is not over, or everything was refused.
func (k *kept) silent(now time.Time) bool {
	pauses := func(m *law.Memory) bool {
		return m != nil && m.Backoff(route.Ago(m, k.RecordedAt, now)) > 0
	}
	return k.silentUntil().After(now) || pauses(&k.Memory) ||
		slices.ContainsFunc(k.Routes, func(r route.Kept) bool { return pauses(r.Memory) })
}

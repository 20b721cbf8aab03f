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
	At   time.Time   `json:"at"`             // which tells one from the next
	Ends []time.Time `json:"ends,omitempty"` // of the silences that its giver saw; none: everything was refused
	Left bool        `json:"left,omitempty"` // its request has, or a refusal came before it, which its giver did not see
}

// pending reports whether the request of a may leave yet.
func (a *ask) pending() bool { return a != nil && !a.Left }

// same reports whether a is b, left or not.
func (a *ask) same(b *ask) bool {
	return a == b || a != nil && b != nil && times.Same(a.At, b.At)
}

// saw reports whether a was given for a silence that ends at until. The end that is told of
// one silence differs by a moment from answer to answer.
func (a *ask) saw(until time.Time) bool {
	return slices.ContainsFunc(a.Ends, func(end time.Time) bool { return times.Same(end, until) })
}

// endAsk ends the order, if there is one whose request has not left.
func (g *Gate) endAsk() {
	if is := g.ordered(); is.ask.pending() {
		done := *is.ask
		done.Left = true
		g.give(is.budgets, &done)
	}
}

// asks reports whether a request that leaves by way at now is the one that asks.
func (g *Gate) asks(way *route.Route, now law.Moment) bool {
	a := g.ordered().ask
	if !a.pending() {
		return false
	}
	if until := g.silence(way); until > now {
		return a.saw(g.clock.When(until))
	}
	at, m := g.clock.When(now), way.Memory(&g.clock)
	return m.Backoff(route.Ago(&m, at, at)) > passes
}

// asking reports whether the request that asks is on its way, and way waits for what it brings.
func (g *Gate) asking(way *route.Route, now law.Moment) bool {
	return g.silence(way) > now && g.ordered().ask != nil && slices.ContainsFunc(g.flights, func(f flight) bool { return f.id > 0 && f.asks })
}

// silence returns until when nothing is to leave by way, because the provider said so.
func (g *Gate) silence(way *route.Route) law.Moment {
	return max(g.hold, way.Hold, g.reserve, way.Reserve)
}

// askAnswered ends the silence of all, and that of way, if the order was given for it: the
// request that asked was answered well. What its answer asks for comes after it. It reports
// whether one ended.
func (g *Gate) askAnswered(way *route.Route, now law.Moment) (ended bool) {
	for _, until := range []*law.Moment{&g.hold, &g.reserve, &way.Hold, &way.Reserve} {
		if *until > now && g.ordered().ask.saw(g.clock.When(*until)) {
			*until, ended = now, true
		}
	}
	return ended
}

// ends returns when each of the silences ends that are not over at now.
func (k *kept) ends(now time.Time) []time.Time {
	all := []time.Time{k.Hold, k.Reserve}
	for _, r := range k.Routes {
		all = append(all, r.Hold, r.Reserve)
	}
	return slices.DeleteFunc(all, func(end time.Time) bool { return !end.After(now) })
}

// silent reports whether nothing is to leave for a while after now, by one of the routes or by
// all: a silence that was asked for is not over, or everything was refused.
func (k *kept) silent(now time.Time) bool {
	pauses := func(m *law.Memory) bool {
		return m != nil && m.Backoff(route.Ago(m, k.RecordedAt, now)) > passes
	}
	return len(k.ends(now)) > 0 || pauses(&k.Memory) ||
		slices.ContainsFunc(k.Routes, func(r route.Kept) bool { return pauses(r.Memory) })
}

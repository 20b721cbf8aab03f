package gate

import (
	"cmp"
	"slices"

	"collect/pacing/gate/internal/route"
	"collect/pacing/gate/internal/usage"
	"collect/pacing/law"
)

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

// paces returns the pace in force of each route; 0 for one by which nothing left.
func (g *Gate) paces() []float64 {
	all := make([]float64, len(g.routes.All))
	for i, r := range g.routes.All {
		if r.Used {
			all[i] = r.Pace.Rate()
		}
	}
	return all
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

// usage returns how the latest requests used what they were allowed, and by which route the next one waits if all that wait
// do so for long.
func (g *Gate) usage(now law.Moment) *usage.Kept {
	k, stopped := g.measured(now), g.stopped(now)
	if stopped < 0 {
		return k
	}
	waits := usage.Kept{}
	if k != nil {
		waits = *k
	}
	waits.Held, waits.Route = usage.ByTime, stopped
	return &waits
}

// stopped returns the route by which the next request leaves, where each that requests wait by is stopped; -1 if requests leave
// by another one, or if there is one route: what stops that one stops all.
func (g *Gate) stopped(now law.Moment) int {
	if len(g.routes.All) == 1 {
		return -1
	}
	first, left := -1, law.Moment(0)
	for i, r := range g.routes.All {
		if g.stops(r, now) {
			left = max(left, r.Left())
			if first < 0 || r.Usage.Until < g.routes.All[first].Usage.Until {
				first = i
			}
		}
	}
	if first < 0 {
		return -1
	}
	for _, r := range g.routes.All {
		leaves := r.Usage.Waits != usage.Unknown || g.flies(r) || r.Left() > left && now-r.Left() < passes
		if leaves && !g.stops(r, now) {
			return -1
		}
	}
	return first
}

// stops reports whether requests wait by r, of several routes, until a time that is no pace, or one is on its way that asks
// whether refusals are over.
func (g *Gate) stops(r *route.Route, now law.Moment) bool {
	if r.Usage.Waits == usage.ByTime && r.Usage.Until-now > passes {
		return true
	}
	m := r.Pace.Keep()
	return m.Refused() > 0 && m.Refused()+m.Backoff(0) > passes && (r.Usage.Waits != usage.Unknown || g.flies(r))
}

// flies reports whether a request by r is on its way.
func (g *Gate) flies(r *route.Route) bool {
	return slices.ContainsFunc(g.flights, func(f flight) bool { return f.id > 0 && f.way == r })
}

// measured returns what held back the latest requests, and how fast they left. Of several routes it is the slowest that is held
// back, of those that requests leave by now.
func (g *Gate) measured(now law.Moment) *usage.Kept {
	if g.sent == 0 {
		return g.usedBefore
	}
	k := g.pulse.Read(g.sent, g.left, now)
	k.InFlight = g.slots.Limit()
	slowest := 0.0
	for i, r := range g.routes.All {
		if !r.InUse(g.left, now) || len(g.routes.All) > 1 && g.stops(r, now) {
			continue
		}
		held := r.Usage.Held()
		if held == usage.Unknown && len(g.routes.All) > 1 && (r.Usage.Timed() || r.Pace.Keep().Backoff(0) > 0) {
			held = usage.ByTime // few have left by it since it was slowed down, and the other routes say nothing of this one
		}
		rate := r.Pace.Rate()
		if r.Fresh(now) {
			rate = min(rate, r.Most)
		}
		switch {
		case held == usage.Unknown:
		case held == usage.ByTime && (k.Held != usage.ByTime || rate < slowest):
			k.Held, k.Route, slowest = usage.ByTime, i, rate
		case held == usage.BySlot && k.Held != usage.ByTime, k.Held == usage.Unknown:
			k.Held = held
		}
	}
	if k.Held == usage.Unknown && g.sent < usage.Least && g.usedBefore != nil {
		return g.usedBefore
	}
	// Where there are as many workers as slots, none waits for one. Where they are just
	// enough for less than the pace, each may wait a little for the pace as well. And
	// where something is always on its way and far less than the pace leaves, the run
	// waits for answers.
	taken := k.OnTheWay / float64(g.slots.Max())
	allowed := cmp.Or(slowest, g.Rate())
	if most := g.spread(); most > 0 {
		allowed = min(allowed, most)
	}
	used := k.PerSecond / allowed
	switch {
	case taken >= full && (used < lags || k.Held == usage.ByNothing):
		k.Held = usage.BySlot
	case k.OnTheWay >= full && used < lags/2 && k.Held != usage.BySlot:
		k.Held = usage.ByNothing
	}
	return &k
}

const (
	full = 0.8 // share of the slots that are in use on average when they are what limits the pace,
	lags = 0.9 // and of the pace that leaves then, at most
)

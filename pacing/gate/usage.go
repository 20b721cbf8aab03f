package gate

import (
	"cmp"

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

// usage returns how the latest requests used what they were allowed. Of several
// routes it is the slowest that is held back, of those that requests leave by now.
func (g *Gate) usage(now law.Moment) *usage.Kept {
	if g.sent == 0 || g.sent < usage.Least && g.usedBefore != nil {
		return g.usedBefore
	}
	k := g.pulse.Read(g.sent, g.left, now)
	k.InFlight = g.slots.Limit()
	slowest := 0.0
	for i, r := range g.routes.All {
		if !r.InUse(g.left, now) {
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

package gate

import (
	"cmp"

	"collect/pacing/gate/internal/usage"
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

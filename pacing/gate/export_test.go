package gate

import (
	"time"

	"collect/pacing/gate/internal/halt"
)

// What the tests of the parts need to see.

// Epoch is when the tests begin to count.
var Epoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// LeavesAt returns when the next request could leave, if an operator lets it.
func (g *Gate) LeavesAt(now time.Time) time.Time {
	until := g.freeze.Ends(&g.clock)
	g.freeze, g.longestWait = halt.Freeze{Until: g.freeze.Until}, 1<<62
	if at := g.Plan(&Request{}, now).Until; at.After(until) {
		return at
	}
	return until
}

// Concurrency returns how many requests may be in flight at once.
func (g *Gate) Concurrency() int { return g.slots.Limit() }

// Probe reports whether the attempt is the breaker's probe.
func (g *Gate) Probe(p Pass) bool { return g.flights.of(p).probe }

func (g *Gate) Routes() int                  { return len(g.routes.All) }
func (g *Gate) RouteOf(stream string) int    { return g.routes.Lane(stream).Route }
func (g *Gate) RateOf(stream string) float64 { return g.routes.By(stream).Pace.Rate() }

// Calm reports whether g asks only those who always have a say, and Alarm makes
// it ask all of them again.
func (g *Gate) Calm() bool { return g.calm }
func (g *Gate) Alarm()     { g.calm = false }

// SameRoute reports whether the requests of two streams leave by one route.
func (g *Gate) SameRoute(a, b string) bool { return g.routes.By(a) == g.routes.By(b) }

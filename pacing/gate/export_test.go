package gate

import (
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// What the tests of the parts need to see.

type Breaker = breaker

// clock is that of the tests of the parts.
var clock = func() (l timeline.Timeline) {
	l.Moment(Epoch)
	return l
}()

// Epoch is when the tests begin to count.
var Epoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func NewBreaker() *breaker          { return &breaker{state: Closed} }
func (b *breaker) State() string    { return b.state }
func (b *breaker) Until() time.Time { return clock.When(b.until) }
func (b *breaker) OnSend(id uint64, now time.Time) (bool, *collection.BreakerInfo) {
	return b.onSend(id, clock.Of(now))
}
func (b *breaker) OnResult(id uint64, probe bool, s law.Signal, sent uint64, now time.Time) *collection.BreakerInfo {
	return b.onResult(id, probe, s, sent, clock.Of(now))
}

// LeavesAt returns when the next request could leave, if an operator lets it.
func (g *Gate) LeavesAt(now time.Time) time.Time {
	until := g.freeze.ends(&g.clock)
	g.freeze, g.longestWait = freeze{until: g.freeze.until}, 1<<62
	if at := g.Plan(&Request{}, now).Until; at.After(until) {
		return at
	}
	return until
}

// Probe reports whether the attempt is the breaker's probe.
func (g *Gate) Probe(p Pass) bool { return g.flights.of(p).probe }

func (g *Gate) Routes() int                  { return len(g.routes) }
func (g *Gate) RouteOf(stream string) int    { return g.laneOf(stream).route }
func (g *Gate) RateOf(stream string) float64 { return g.routes[g.laneOf(stream).route].law.Rate() }

// Calm reports whether g asks only those who always have a say, and Alarm makes
// it ask all of them again.
func (g *Gate) Calm() bool { return g.calm }
func (g *Gate) Alarm()     { g.calm = false }

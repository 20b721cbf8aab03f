package gate

import (
	"time"

	"collect/collection"
	"collect/pacing/law"
)

// What the tests of the parts need to see.

type (
	Breaker = breaker
	Window  = window
)

var (
	NewWindow = newWindow
	Strictest = strictest
)

func NewBreaker() *breaker                                          { return &breaker{state: Closed} }
func (b *breaker) State() string                                    { return b.state }
func (b *breaker) Until() time.Time                                 { return b.until }
func (b *breaker) OnSend(id uint64) (bool, *collection.BreakerInfo) { return b.onSend(id) }
func (b *breaker) OnResult(id uint64, probe bool, s law.Signal, sent uint64, now time.Time) *collection.BreakerInfo {
	return b.onResult(id, probe, s, sent, now)
}

func (w *window) Next(now time.Time) time.Time { return w.next(now, 1) }
func (w *window) Add(now time.Time)            { w.add(now, 1) }
func (w *window) Groups() int                  { return w.log.n }

// LeavesAt returns when the next request could leave, if an operator lets it.
func (g *Gate) LeavesAt(now time.Time) time.Time {
	g.freeze, g.longestWait = freeze{until: g.freeze.until}, 1<<62
	if until := g.Plan(Request{}, now).Until; until.After(g.freeze.until) {
		return until
	}
	return g.freeze.until
}

// Probe reports whether the attempt is the breaker's probe.
func (p Pass) Probe() bool { return p.probe }

type Clamp = clamp

func NewClamp(p collection.Clamp) clamp                    { c, _ := newClamp(p); return c }
func (c *clamp) OnResult(refused bool, now time.Time) bool { return c.onResult(refused, now) }
func (c *clamp) Share() float64                            { return c.share() }
func (g *Gate) Routes() int                                { return len(g.routes) }
func (g *Gate) RouteOf(stream string) int                  { return g.laneOf(stream).route }
func (g *Gate) RateOf(stream string) float64               { return g.routes[g.laneOf(stream).route].law.Rate() }

package pacing

import (
	"net/http"
	"time"

	"collect/collection"
)

// What the tests of the parts need to see.

type (
	Pacer   = pacer
	Breaker = breaker
	Window  = window
	Reading = reading
	Quota   = quota
	Signal  = signal
	Kept    = kept
)

const (
	Silent    = silent
	Succeeded = succeeded
	Answered  = answered
	Throttled = throttled
	Failed    = failed

	Closed   = closed
	Open     = open
	HalfOpen = halfOpen
)

var (
	NewPacer   = newPacer
	NewWindow  = newWindow
	Backoff    = backoff
	Repeatable = repeatable
	Read       = read
	RetryAfter = retryAfter
	Describe   = describe
	OriginOf   = originOf
	Strictest  = strictest
)

func (p *pacer) Next(now time.Time) time.Time {
	at, _ := p.next(now)
	return at
}
func (p *pacer) OnSend(now time.Time) (uint64, bool) {
	d := p.onSend(now)
	return d.id, d.bound
}
func (p *pacer) OnResult(id uint64, bound bool, s signal, now time.Time) {
	p.onResult(ticket{id: id, bound: bound}, outcome{signal: s, hold: -1}, now)
}
func (p *pacer) StepInTime()                 { p.inTime = true }
func (p *pacer) Interval() time.Duration     { return p.interval }
func (p *pacer) SetStep(first time.Duration) { p.step = 1/first.Seconds() - 1/p.start.Seconds() }
func (p *pacer) SetBurst(d time.Duration)    { p.burst = d }

func NewBreaker() *breaker                                          { return &breaker{state: closed} }
func (b *breaker) State() string                                    { return b.state }
func (b *breaker) Until() time.Time                                 { return b.until }
func (b *breaker) OnSend(id uint64) (bool, *collection.BreakerInfo) { return b.onSend(id) }
func (b *breaker) OnResult(id uint64, probe bool, s signal, sent uint64, now time.Time) *collection.BreakerInfo {
	return b.onResult(id, probe, s, sent, now)
}

func (w *window) Next(now time.Time) time.Time { return w.next(now) }
func (w *window) Add(now time.Time)            { w.add(now, 1) }
func (w *window) Groups() int                  { return len(w.log) }

func (b *Budget) Reserve() bool   { return b.reserve(false) }
func (b *Budget) TakeToken() bool { return b.takeToken() }
func (b *Budget) Record(s signal) { b.record(s, false) }
func (b *Budget) Capacity() int64 { return b.capacity / tokenParts }

func (g *Governor) SetProbe(f func(waits int)) { g.probe = f }

func (r reading) Class() string       { return string(r.class) }
func (r reading) Hold() time.Duration { return r.hold }
func (r reading) Reason() string      { return r.reason }
func (r reading) Key() string         { return r.key }
func (r reading) Cost() float64       { return r.cost }
func (r reading) MaxRate() float64    { return r.maxRate }
func (r reading) Windows() []quota    { return r.windows }
func (q quota) Values() (name string, limit, remaining float64, reset, window time.Duration, unit string) {
	return q.name, q.limit, q.remaining, q.reset, q.window, q.unit
}

func ParseState(state []byte, now time.Time) (Kept, error) { return parseState(state, now) }

func Header(h map[string][]string) http.Header {
	out := http.Header{}
	for k, vs := range h {
		for _, v := range vs {
			out.Add(k, v)
		}
	}
	return out
}

type Gate struct{ gate }

func NewGate(p collection.Provider) *Gate {
	g, err := newGate(p, "", time.Minute, 1)
	if err != nil {
		panic(err)
	}
	return &Gate{g}
}

// Pass lets a request through, if it may leave at now.
func (g *Gate) Pass(now time.Time) bool {
	if p := g.plan(now, time.Time{}, time.Time{}); !p.ready {
		return p.until.Sub(now) == startInterval // the first one waits
	}
	g.settle(now, g.leave(now), outcome{signal: succeeded, hold: -1})
	return true
}

func (g *Gate) Restore(state []byte, now time.Time) error { return g.gate.restore(state, now) }
func (g *Gate) Snapshot(now time.Time) []byte             { return g.gate.snapshot(now) }
func (g *Gate) Interval() time.Duration                   { return time.Duration(float64(time.Second) / g.law.rate()) }

// LeavesAt returns when the next request could leave, if an operator lets it.
func (g *Gate) LeavesAt(now time.Time) time.Time {
	g.freeze, g.longestWait = freeze{until: g.freeze.until}, 1<<62
	return latest(g.plan(now, time.Time{}, time.Time{}).until, g.freeze.until)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A Learner is the plateau law.
type Learner struct{ p *plateau }

// A Sent is an attempt of a Learner.
type Sent struct{ t ticket }

// A Result is what a Learner is told.
type Result struct {
	Signal     Signal
	Weak       bool
	Hold       time.Duration // 0: not said
	Refused    bool          // the account
	Limit      float64       // announced, with Remaining and Reset
	Remaining  float64
	Reset, Per time.Duration
}

func NewLearner(start, ceiling float64) Learner        { return Learner{newPlateau(start, ceiling, 0.5)} }
func (l Learner) Rate() float64                        { return l.p.rate() }
func (l Learner) Plateau() float64                     { return l.p.target }
func (l Learner) Next(now time.Time) (time.Time, bool) { return l.p.next(now) }
func (l Learner) Due() time.Time                       { return latest(l.p.tat, l.p.pause) }
func (l Learner) Send(now time.Time) Sent              { return Sent{l.p.onSend(now)} }

func (l Learner) Result(s Sent, r Result, now time.Time) {
	o := outcome{signal: r.Signal, weak: r.Weak, hold: -1}
	if r.Hold > 0 {
		o.hold = r.Hold
	}
	if r.Refused {
		o.refused = "forbidden"
	}
	if r.Limit > 0 {
		o.windows = []quota{{name: "q", limit: r.Limit, remaining: r.Remaining, reset: r.Reset, window: r.Per}}
	}
	l.p.onResult(s.t, o, now)
}

func (l Learner) Keep(now time.Time) Kept {
	k := kept{Version: stateVersion, RecordedAt: now}
	l.p.keep(&k)
	return k
}

func (l Learner) Restore(k Kept, now time.Time) { l.p.restore(k, now) }

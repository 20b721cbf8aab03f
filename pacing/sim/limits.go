package sim

import (
	"math"
	"time"
)

// A limiter counts. Times are seconds since the start of the provider.
type limiter interface {
	// take takes cost and returns 0, or takes nothing and returns how long
	// until it might fit.
	take(now, cost float64) (wait float64)

	// left returns what the provider announces: the limit, how much of it remains,
	// and the seconds until there is more.
	left(now float64) (limit, remaining, reset, window float64)
}

// A fixedWindow grants n in each span of w that begins at a multiple of w,
// moved by phase.
type fixedWindow struct {
	n, w, phase float64

	index float64
	used  float64
}

func (f *fixedWindow) roll(now float64) (reset float64) {
	index := math.Floor((now + f.phase) / f.w)
	if index != f.index {
		f.index, f.used = index, 0
	}
	return (index+1)*f.w - f.phase - now
}

func (f *fixedWindow) take(now, cost float64) float64 {
	reset := f.roll(now)
	if f.used+cost > f.n {
		return reset
	}
	f.used += cost
	return 0
}

func (f *fixedWindow) left(now float64) (limit, remaining, reset, window float64) {
	reset = f.roll(now)
	return f.n, f.n - f.used, reset, f.w
}

// A slidingWindow grants n in any span of w.
type slidingWindow struct {
	n, w float64

	at   []float64
	cost []float64
	used float64
}

func (s *slidingWindow) expire(now float64) {
	for len(s.at) > 0 && s.at[0] <= now-s.w {
		s.used -= s.cost[0]
		s.at, s.cost = s.at[1:], s.cost[1:]
	}
}

func (s *slidingWindow) take(now, cost float64) float64 {
	s.expire(now)
	if s.used+cost > s.n {
		return s.at[0] + s.w - now
	}
	s.at, s.cost = append(s.at, now), append(s.cost, cost)
	s.used += cost
	return 0
}

func (s *slidingWindow) left(now float64) (limit, remaining, reset, window float64) {
	s.expire(now)
	reset = s.w
	if len(s.at) > 0 {
		reset = s.at[0] + s.w - now
	}
	return s.n, s.n - s.used, reset, s.w
}

// A bucket fills at a rate, which may change over time, up to burst.
type bucket struct {
	rate  func(now float64) float64
	burst float64

	tokens float64
	at     float64
}

func steady(rate float64) func(float64) float64 { return func(float64) float64 { return rate } }

func (b *bucket) fill(now float64) {
	b.tokens = min(b.burst, b.tokens+(now-b.at)*b.rate(now))
	b.at = now
}

func (b *bucket) take(now, cost float64) float64 {
	b.fill(now)
	if b.tokens < cost {
		return (cost - b.tokens) / b.rate(now)
	}
	b.tokens -= cost
	return 0
}

func (b *bucket) left(now float64) (limit, remaining, reset, window float64) {
	b.fill(now)
	return b.burst, math.Floor(b.tokens), 1 / b.rate(now), b.burst / b.rate(now)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

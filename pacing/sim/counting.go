package sim

import (
	"math"
	"math/rand/v2"
)

// A nodes is a number of machines that a balancer sends to at random. Each
// counts for itself.
type nodes struct {
	each []limiter
	rng  *rand.Rand
}

func (n *nodes) take(now, cost float64) float64 {
	return n.each[n.rng.IntN(len(n.each))].take(now, cost)
}

func (n *nodes) left(now float64) (limit, remaining, reset, window float64) {
	return n.each[0].left(now)
}

// A weighedWindow takes what was granted in the last window of w to have been
// evenly spread, and counts of it what would be in the span of w that ends now:
// the approximation of a sliding window that Cloudflare described in "How we
// built rate limiting capable of scaling to millions of domains" (2017).
type weighedWindow struct {
	n, w float64

	index, last, used float64
}

// roll returns how much of the window has passed.
func (s *weighedWindow) roll(now float64) float64 {
	index := math.Floor(now / s.w)
	switch {
	case index == s.index+1:
		s.last, s.used = s.used, 0
	case index > s.index:
		s.last, s.used = 0, 0
	}
	s.index = index
	return now/s.w - index
}

func (s *weighedWindow) take(now, cost float64) float64 {
	passed := s.roll(now)
	if s.last*(1-passed)+s.used+cost <= s.n {
		s.used += cost
		return 0
	}
	if s.used+cost > s.n {
		return s.w * (1 - passed)
	}
	return s.w * (1 - (s.n-s.used-cost)/s.last - passed)
}

func (s *weighedWindow) left(now float64) (limit, remaining, reset, window float64) {
	passed := s.roll(now)
	return s.n, math.Floor(s.n - s.used - s.last*(1-passed)), s.w * (1 - passed), s.w
}

// An interval grants what comes no sooner than length after the last request,
// whether that was granted or not.
type interval struct {
	length float64

	free float64
}

func (i *interval) take(now, cost float64) float64 {
	wait := i.free - now
	i.free = now + i.length*cost
	if wait > 1e-9 { // the clock has nanoseconds
		return wait
	}
	return 0
}

func (i *interval) left(now float64) (limit, remaining, reset, window float64) {
	return 1, 0, max(0, i.free-now), i.length
}

// An unforgiving window counts what it refuses as well, as those do that note
// a request before they count: who goes on is refused for ever.
type unforgiving struct{ slidingWindow }

func (u *unforgiving) take(now, cost float64) float64 {
	wait := u.slidingWindow.take(now, cost)
	if wait > 0 {
		u.at, u.cost = append(u.at, now), append(u.cost, cost)
		u.used += cost
	}
	return wait
}

// A debt is a bucket that grants while there is anything in it, because the
// cost is only known when the answer is. What is missing is owed.
type debt struct{ bucket }

func (b *debt) take(now, cost float64) float64 {
	b.fill(now)
	if b.tokens <= 0 {
		return 1e-3 - b.tokens/b.rate(now)
	}
	b.tokens -= cost
	return 0
}

// bySize draws the cost of a request whose answer may have any size: of one
// point in the mean, and of four in one of fifty.
func bySize(rng *rand.Rand) float64 { return math.Exp(0.8*rng.NormFloat64() - 0.32) }

// A crowdedBucket counts the requests in flight as well.
type crowdedBucket struct {
	counting
	most int
	told func(*reply) // what else a refusal of the crowd tells; nil: nothing
}

func (c *crowdedBucket) capacity(now float64) float64 {
	return min(Ceiling, c.best(now), float64(c.most)/c.idle)
}

func (c *crowdedBucket) answer(now, cost float64, inFlight int) reply {
	if inFlight > c.most {
		r := reply{status: 429, latency: 0.05}
		if c.told != nil {
			c.told(&r)
		}
		return r
	}
	return c.counting.answer(now, cost, inFlight)
}

// A routed provider judges what it is asked for at each of its paths by itself.
type routed []model

func (r routed) capacity(now float64) float64 {
	sum := 0.0
	for _, m := range r {
		sum += m.capacity(now)
	}
	return min(Ceiling, sum)
}

func (r routed) answer(now, cost float64, inFlight int) reply {
	return r[0].answer(now, cost, inFlight)
}

package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"net/http"
)

// A serving provider works through a queue at a rate. Its latency is the
// queue; beyond longest seconds of it, it refuses with a bare 503.
type serving struct {
	rate    float64
	longest float64 // 0: it never refuses
	rng     *rand.Rand
	idle    float64

	free float64 // when the queue is empty
}

func (s *serving) capacity(float64) float64 { return s.rate }

func (s *serving) answer(now, cost float64, _ int) reply {
	queue := max(0, s.free-now)
	if s.longest > 0 && queue > s.longest {
		s.free += 0.2 * cost / s.rate // refusing is work, too
		return reply{status: 503, latency: s.idle}
	}
	s.free = max(s.free, now) + cost/s.rate
	return reply{status: 200, latency: queue + 1/s.rate + jitter(s.rng, s.idle-1/s.rate)}
}

// A tarpit answers requests above its rate late.
type tarpit struct {
	allowed bucket
	late    float64 // seconds
	rng     *rand.Rand
	idle    float64
}

func (t *tarpit) capacity(now float64) float64 { return t.allowed.rate(now) }

func (t *tarpit) answer(now, cost float64, _ int) reply {
	r := reply{status: 200, latency: jitter(t.rng, t.idle)}
	if t.allowed.take(now, cost) > 0 {
		r.latency += t.late
	}
	return r
}

// A crowded provider counts the requests in flight and nothing else.
type crowded struct {
	most   int
	status int // of a refusal; 0: 429
	rng    *rand.Rand
	idle   float64
}

func (c *crowded) capacity(float64) float64 { return min(Ceiling, float64(c.most)/c.idle) }

func (c *crowded) answer(_, _ float64, inFlight int) reply {
	if inFlight > c.most {
		return reply{status: cmp.Or(c.status, http.StatusTooManyRequests), latency: 0.05}
	}
	return reply{status: 200, latency: jitter(c.rng, c.idle)}
}

// wander returns a rate that moves between half and double of around, as a
// sum of slow waves.
func wander(rng *rand.Rand, around float64) func(float64) float64 {
	a, b := rng.Float64()*2*math.Pi, rng.Float64()*2*math.Pi
	return func(now float64) float64 {
		wave := 0.6*math.Sin(now*2*math.Pi/2900+a) + 0.4*math.Sin(now*2*math.Pi/1300+b)
		return around * math.Exp2(0.8*wave)
	}
}

// step returns a rate that falls to a quarter at a time.
func step(rate, at float64) func(float64) float64 {
	return func(now float64) float64 {
		if now >= at {
			return rate / 4
		}
		return rate
	}
}

// A delaying provider lets a request wait until it is its turn, at a rate, and
// refuses with a bare 503 when burst of them wait: nginx's limit_req with a
// burst, and the status that it answers with unless limit_req_status says another.
type delaying struct {
	rate, burst float64
	rng         *rand.Rand
	idle        float64

	waiting float64
	at      float64
}

func (d *delaying) capacity(float64) float64 { return d.rate }

func (d *delaying) answer(now, cost float64, _ int) reply {
	waiting := max(0, d.waiting-d.rate*(now-d.at))
	if waiting > d.burst {
		return reply{status: 503, latency: d.idle / 2}
	}
	d.at, d.waiting = now, waiting+cost
	return reply{status: 200, latency: jitter(d.rng, d.idle) + waiting/d.rate}
}

// An away provider answers everything with one thing for a while.
type away struct {
	counting
	from, length float64
	said         reply
}

func (a *away) gone(now float64) bool { return now >= a.from && now < a.from+a.length }

func (a *away) capacity(now float64) float64 {
	if a.gone(now) {
		return 0
	}
	return a.best(now)
}

func (a *away) answer(now, cost float64, inFlight int) reply {
	if a.gone(now) {
		return a.said
	}
	return a.counting.answer(now, cost, inFlight)
}

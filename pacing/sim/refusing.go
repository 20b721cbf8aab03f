package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
)

// A style is how a provider tells of its limit.
type style int

const (
	bare        style = iota // 429 and nothing else
	retryAfter               // 429 with Retry-After
	announced                // X-RateLimit headers on every response, and 429 without Retry-After
	roundedDown              // 429 with Retry-After, which may be 0
	atOnce                   // 429 with Retry-After: 0
	rated                    // the rate in X-Amzn-RateLimit-Limit on every response, and bare 429
	structured               // the fields of draft-ietf-httpapi-ratelimit-headers-10, and Retry-After
)

// A counting provider refuses with 429 what does not fit in its limits.
type counting struct {
	limits []limiter
	style  style
	tell   func(r *reply, now, wait float64) // more or other things than style does; nil: nothing
	best   func(now float64) float64
	rng    *rand.Rand
	idle   float64
}

func (c *counting) capacity(now float64) float64 { return c.best(now) }

func (c *counting) answer(now, cost float64, _ int) reply {
	wait := 0.0
	for _, l := range c.limits {
		if w := l.take(now, cost); w > 0 {
			wait = max(wait, w)
			break
		}
	}
	r := reply{status: 200, header: http.Header{}, latency: jitter(c.rng, c.idle)}
	if wait > 0 {
		r.status, r.latency = 429, r.latency/2
		switch c.style {
		case retryAfter, structured:
			r.header.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait))))
		case roundedDown:
			r.header.Set("Retry-After", strconv.Itoa(int(wait)))
		case atOnce:
			r.header.Set("Retry-After", "0")
		}
	}
	limit, remaining, reset, window := c.limits[0].left(now)
	switch c.style {
	case announced:
		r.header.Set("X-RateLimit-Limit", strconv.Itoa(int(limit)))
		r.header.Set("X-RateLimit-Remaining", strconv.Itoa(int(remaining)))
		r.header.Set("X-RateLimit-Reset", strconv.Itoa(int(math.Ceil(reset))))
	case rated:
		r.header.Set("X-Amzn-RateLimit-Limit", strconv.FormatFloat(c.best(now), 'f', -1, 64))
	case structured:
		r.header.Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, int(limit), int(math.Ceil(window))))
		r.header.Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, int(remaining), int(math.Ceil(reset))))
	}
	if c.tell != nil {
		c.tell(&r, now, wait)
	}
	return r
}

// jitter draws a latency around idle: log-normal, as those of services are.
func jitter(rng *rand.Rand, idle float64) float64 {
	return idle * math.Exp(0.3*rng.NormFloat64()-0.045)
}

// A punishing provider does worse to clients that go on after a refusal.
type punishing struct {
	counting
	box      float64 // seconds of refusing everything after a refusal; 0: none
	block    float64 // seconds of 403 instead of a refusal; 0: none
	tooMany  int     // refusals in ten minutes that end in a ban; 0: any number
	baseless float64 // chance of a refusal for nothing

	until    float64
	refusals []float64
	ignored  int
}

func (p *punishing) answer(now, cost float64, inFlight int) reply {
	if now < p.until {
		if p.block > 0 {
			p.ignored++
			return reply{status: 403, latency: p.idle, ban: p.ignored > 3*Workers}
		}
		return p.refuse(now, reply{status: 429, latency: p.idle / 2})
	}
	if p.rng.Float64() < p.baseless {
		return p.refuse(now, reply{status: 429, latency: p.idle / 2})
	}
	r := p.counting.answer(now, cost, inFlight)
	if r.status == 200 {
		return r
	}
	if p.box > 0 {
		p.until = now + p.box
	}
	if p.block > 0 {
		p.until, p.ignored = now+p.block, 0
		return reply{status: 403, latency: p.idle}
	}
	return p.refuse(now, r)
}

func (p *punishing) refuse(now float64, r reply) reply {
	if p.tooMany == 0 {
		return r
	}
	p.refusals = append(p.refusals, now)
	for p.refusals[0] < now-600 {
		p.refusals = p.refusals[1:]
	}
	r.ban = len(p.refusals) > p.tooMany
	return r
}

// A hidden provider says nothing until it bans: above rate in any second.
type hidden struct {
	seen slidingWindow
	rng  *rand.Rand
	idle float64
}

func (h *hidden) capacity(float64) float64 { return Ceiling }

func (h *hidden) answer(now, cost float64, _ int) reply {
	if h.seen.take(now, cost) > 0 {
		return reply{status: 403, latency: h.idle, ban: true}
	}
	return reply{status: 200, latency: jitter(h.rng, h.idle)}
}

// A shared provider has another client on the same credential, which works in
// bursts: half of the limit for on seconds, nothing for off.
type shared struct {
	counting
	rate    float64
	on, off float64

	at float64
}

func (s *shared) busy(now float64) bool { return math.Mod(now, s.on+s.off) < s.on }

func (s *shared) capacity(now float64) float64 {
	if s.busy(now) {
		return s.rate / 2
	}
	return s.rate
}

func (s *shared) answer(now, cost float64, inFlight int) reply {
	for s.at < now { // what the other one sent meanwhile
		if s.busy(s.at) {
			s.limits[0].take(s.at, 1)
		}
		s.at += 2 / s.rate
	}
	return s.counting.answer(now, cost, inFlight)
}

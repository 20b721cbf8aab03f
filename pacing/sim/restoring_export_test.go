package sim

import (
	"math/rand/v2"
	"time"
)

// Judge returns a limiter that is its own.
func Judge(take func(now float64) (wait float64)) Limiter { return judge(take) }

type judge func(now float64) float64

func (j judge) take(now, _ float64) float64       { return j(now) }
func (j judge) left(float64) (_, _, _, _ float64) { return 1e9, 1e9, 1, 1 }

// Crowded returns a provider where nothing goes wrong for no reason, and that
// refuses with a status what is more than most in flight.
func Crowded(status, most int, latency float64) *Provider {
	p := Plain(nil, nil)
	p.model = &places{status, most, latency}
	return p
}

type places struct {
	status, most int
	latency      float64
}

func (c *places) capacity(float64) float64 { return float64(c.most) / c.latency }

func (c *places) answer(_, _ float64, inFlight int) reply {
	if inFlight > c.most {
		return reply{status: c.status, latency: 0.02}
	}
	return reply{status: 200, latency: c.latency}
}

// Boxed returns a provider where nothing goes wrong for no reason, that grants n
// in each span of w seconds, and refuses everything for block seconds after
// one too many.
func Boxed(n, w, block float64) *Provider {
	window := &fixedWindow{n: n, w: w}
	until := 0.0
	return Plain(Judge(func(now float64) float64 {
		if now < until {
			return until - now
		}
		wait := window.take(now, 1)
		if wait > 0 {
			until = now + block
		}
		return wait
	}), func(*rand.Rand) float64 { return 0.1 })
}

// RefusedAt returns when the first request was refused.
func (p *Provider) RefusedAt() time.Duration {
	for _, a := range p.log {
		if a.refused {
			return time.Duration(a.at * float64(time.Second))
		}
	}
	return 0
}

// Work returns what was done from one moment to another.
func (p *Provider) Work(from, to time.Duration) float64 {
	work := 0.0
	for _, a := range p.log {
		if a.status == 200 && a.at >= from.Seconds() && a.at < to.Seconds() {
			work += a.cost
		}
	}
	return work
}

// Reaches returns how long after a moment rate answers a second left, over three
// seconds; as long as anything can be if they never did.
func (p *Provider) Reaches(from time.Duration, rate float64) time.Duration {
	const span = 3.0
	var kept []float64
	for _, a := range p.log {
		if a.status != 200 || a.at < from.Seconds() {
			continue
		}
		kept = append(kept, a.at)
		if n := int(span * rate); len(kept) >= n && a.at-kept[len(kept)-n] <= span {
			return time.Duration(a.at*float64(time.Second)) - from
		}
	}
	return 1 << 62
}

// Taken takes one request out of l, and returns how many seconds it has to wait; 0: none.
func Taken(l Limiter, now float64) (wait float64) { return l.take(now, 1) }

package sim

import (
	"math"
	"math/rand/v2"
)

// A gateway stands before a server of one thread, and answers 504 for it when
// that takes longer than patience. The server does not begin what the gateway
// gave up, and ends what it began.
type gateway struct {
	rate     float64
	patience float64 // seconds
	rng      *rand.Rand
	idle     float64

	free float64 // when the thread is
}

func (g *gateway) capacity(float64) float64 { return g.rate }

func (g *gateway) answer(now, cost float64, _ int) reply {
	begin, late := max(now, g.free), reply{status: 504, latency: g.patience}
	if begin-now >= g.patience {
		return late
	}
	// Of answers, a little scatters: most of them read the same from a database.
	g.free = begin + cost/g.rate*math.Exp(0.3*g.rng.NormFloat64()-0.045)
	if g.free-now > g.patience {
		return late
	}
	return reply{status: 200, latency: g.free - now + jitter(g.rng, g.idle)}
}

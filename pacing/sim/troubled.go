package sim

import (
	"math"
	"net/http"
	"strconv"
)

// Troubled returns providers that fail in the ordinary ways, whatever the pace is: most of what fails
// has nothing to do with a limit.
func Troubled() []Family {
	return []Family{
		{"net-dead", "no connection for 5 to 40 s in every 2 to 15 min; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.nowAndThen(5, 40, reply{dead: true, absent: true, latency: 0.02})
		}},
		{"net-silent", "no answer for 5 to 40 s in every 2 to 15 min; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.nowAndThen(5, 40, reply{hang: true, absent: true})
		}},
		{"deploy-502", "502 for 3 to 20 s in every 2 to 15 min; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.nowAndThen(3, 20, reply{status: 502, absent: true, latency: 0.02})
		}},
		{"deploy-503", "503 for 3 to 20 s in every 2 to 15 min; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.nowAndThen(3, 20, reply{status: 503, absent: true, latency: 0.02})
		}},
		{"blocked-429", "429 to everything for 10 to 120 s in every 4 to 15 min, half of them with Retry-After; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			m := &failing{counting: *d.limitOrNone(), every: d.between(240, 900), length: d.between(10, 120), share: 1, said: reply{status: 429, absent: true, latency: 0.02}}
			m.told = d.rng.IntN(2) == 0
			return m
		}},
		{"broken-502", "one of 3 to 50 servers is broken: 502; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.broken(reply{status: 502, absent: true, latency: 0.02}, 1/d.between(3, 50))
		}},
		{"broken-500", "one of 8 to 50 servers is broken: 500; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.broken(reply{status: 500, absent: true, latency: 0.02}, 1/d.between(8, 50))
		}},
		{"broken-503", "one of 3 to 50 servers is broken: 503; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.broken(reply{status: 503, absent: true, latency: 0.02}, 1/d.between(3, 50))
		}},
		{"broken-silent", "one of 3 to 50 servers answers nothing; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			return d.broken(reply{hang: true, absent: true}, 1/d.between(3, 50))
		}},
	}
}

// nowAndThen draws a provider that answers everything with one thing for some seconds, again and again.
func (d *draw) nowAndThen(least, most float64, said reply) model {
	c := d.limitOrNone()
	return &failing{counting: *c, every: d.between(120, 900), length: d.between(least, most), share: 1, said: said}
}

// broken draws a provider that answers a share of the requests with one thing.
func (d *draw) broken(said reply, share float64) model {
	return &failing{counting: *d.limitOrNone(), every: 1, length: 1, share: share, said: said}
}

// A failing provider answers a share of the requests with one thing, in a part of each period.
type failing struct {
	counting
	every, length float64 // seconds
	share         float64
	said          reply
	told          bool // it says when this ends
}

// capacity is what is left when each request that fails takes its turn. The best client does not wait for what is
// never answered.
func (f *failing) capacity(now float64) float64 {
	if f.share == 1 {
		return f.best(now) * (1 - f.length/f.every)
	}
	return min(f.best(now), Ceiling*(1-f.share))
}

func (f *failing) answer(now, cost float64, inFlight int) reply {
	if math.Mod(now, f.every) >= f.every-f.length && f.rng.Float64() < f.share {
		said := f.said
		if f.told {
			said.header = http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(f.every - math.Mod(now, f.every))))}}
		}
		return said
	}
	return f.counting.answer(now, cost, inFlight)
}

package sim

import (
	"math"
	"slices"
)

// Strangers returns kinds of providers that were written after the law, from
// what providers do and not from what the law does. The score is not over them:
// they show what it is worth with what it was not made for.
func Strangers() []Family {
	return slices.Concat(counters(), words(), paces(), tides())
}

// Tuned returns the kinds of providers that the law was tuned on: all of these.
func Tuned() []Family { return slices.Concat(Families(), Strangers(), Troubled()) }

// Kinds returns every kind of provider there is, those first that the law was
// tuned on.
func Kinds() []Family { return slices.Concat(Tuned(), Untuned()) }

// counters returns providers that count in other ways.
func counters() []Family {
	return []Family{
		{"nodes", "each machine behind a balancer has its share of a token bucket, bare 429", true, false, func(d *draw) model {
			rate, n := max(1, d.limit()), 2+d.rng.IntN(5)
			l := &nodes{rng: d.rng}
			for range n {
				burst := 5 + math.Round(25*d.rng.Float64())
				l.each = append(l.each, &bucket{rate: steady(rate / float64(n)), burst: burst, tokens: burst})
			}
			return d.counting(bare, steady(rate), l)
		}},
		{"weighed", "the last window counts by its part of a sliding one, bare 429", true, false, func(d *draw) model {
			w := []float64{10, 60, 300}[d.rng.IntN(3)]
			n := max(20, math.Round(w*d.limit())) // of fewer, it rounds away too much
			return d.counting(bare, steady(n/w), &weighedWindow{n: n, w: w})
		}},
		{"interval", "a strict interval between requests, refused ones too, bare 429", true, false, func(d *draw) model {
			rate := d.limit()
			return d.counting(bare, steady(rate), &interval{length: 1 / rate})
		}},
		{"counts-refused", "sliding window that counts what it refuses, bare 429", true, false, func(d *draw) model {
			n, w := d.window(d.limit())
			return d.counting(bare, steady(n/w), &unforgiving{slidingWindow{n: n, w: w}})
		}},
		{"debt", "points by the size of the answer, taken when it is known, bare 429", true, false, func(d *draw) model {
			rate := d.limit()
			d.cost = bySize
			burst := 10 + 5*rate
			return d.counting(bare, steady(rate), &debt{bucket{rate: steady(rate), burst: burst, tokens: burst}})
		}},
		{"both", "requests in flight are counted and a token bucket as well, bare 429", true, false, func(d *draw) model {
			d.idle = 0.3 * math.Exp(d.rng.Float64()*math.Log(7))
			most := 2 + d.rng.IntN(9)
			rate := min(16, float64(most)/d.idle*(0.4+1.2*d.rng.Float64()))
			return &crowdedBucket{most: most, counting: *d.bucket(bare, steady(rate))}
		}},
		{"two-routes", "two streams with token buckets of their own, bare 429", true, false, func(d *draw) model {
			quick := max(0.8, d.limit())
			slow := quick / (2 + 6*d.rng.Float64())
			d.paths = []string{"/records", "/details"}
			return routed{d.bucket(bare, steady(quick)), d.bucket(bare, steady(slow))}
		}},
	}
}

// words returns providers that use other words, or other headers, for a refusal or
// for how much of a limit is left.
func words() []Family {
	return []Family{
		{"after-minute", "token bucket, Retry-After: 60 whatever the wait is", true, false, func(d *draw) model {
			return d.telling(d.bucket(bare, steady(d.limit())), always(60))
		}},
		{"after-short", "fixed window, Retry-After too short by some seconds", true, false, func(d *draw) model {
			return d.telling(d.minutes(60, 300), tooShort(2+18*d.rng.Float64()))
		}},
		{"after-date", "fixed window, Retry-After as a date, by a clock that is off", true, false, func(d *draw) model {
			return d.telling(d.minutes(10, 60, 300), d.clock().asDate)
		}},
		{"after-grows", "a refusal is followed by refusing everything for a time that doubles, Retry-After", true, false, func(d *draw) model {
			return &growing{counting: *d.bucket(bare, steady(d.limit())), least: 2 + 8*d.rng.Float64()}
		}},
		{"unavailable", "fixed window, 503 with Retry-After", true, false, func(d *draw) model {
			return d.telling(d.fixed(retryAfter), unavailable)
		}},
		{"forbidden", "100 seconds, 403 with a code that says rate limit", true, false, func(d *draw) model {
			return d.telling(d.minutes(100), forbidden)
		}},
		{"hour-told", "an hour's limit announced, a token bucket below it that is not, bare 429", true, false, func(d *draw) model {
			c := d.bucket(announced, steady(d.limit()))
			n := math.Round(3600 * c.best(0) * (1.5 + 2.5*d.rng.Float64()))
			c.limits = slices.Insert(c.limits, 0, limiter(&fixedWindow{n: n, w: 3600, phase: 3600 * d.rng.Float64()}))
			return c
		}},
		{"others-told", "fixed window, announced, of which others use a part", true, true, func(d *draw) model { return d.visited() }},
		{"epoch-told", "fixed window, announced until a point in time, by a clock that is off", true, true, func(d *draw) model {
			c := d.minutes(60, 300, 900)
			return d.telling(c, d.clock().asEpoch(c.limits[0]))
		}},
		{"few-told", "a few in one or ten seconds, announced in whole seconds", true, true, func(d *draw) model {
			n, w := float64(2+d.rng.IntN(7)), 1.0
			if d.rng.IntN(2) == 0 {
				n, w = float64(3+d.rng.IntN(28)), 10
			}
			return d.begun(announced, n, w)
		}},
	}
}

// paces returns providers whose answers are slow, or do not come.
func paces() []Family {
	return []Family{
		{"delaying", "what is too fast is delayed, and refused with 503 beyond a few seconds of it", true, false, func(d *draw) model {
			rate := d.limit()
			return &delaying{rate: rate, burst: max(1, math.Round(rate*(1+4*d.rng.Float64()))), rng: d.rng, idle: d.idle}
		}},
		{"noisy", "token bucket, latencies that scatter widely, bare 429", true, false, func(d *draw) model {
			d.idle = 0.2 + d.rng.Float64()
			return d.telling(d.bucket(bare, steady(d.limit())), d.scattered(0.5+0.5*d.rng.Float64()))
		}},
		{"slow", "fixed window, answers after two to eight seconds, bare 429", true, false, func(d *draw) model {
			d.idle = 2 + 6*d.rng.Float64()
			n, w := d.window(min(d.limit(), 0.6*Workers/d.idle))
			return d.begun(bare, n, w)
		}},
		{"dropping", "token bucket, no answer to what is too fast", true, false, func(d *draw) model {
			return d.telling(d.bucket(bare, steady(d.limit())), noAnswer)
		}},
		{"gateway", "a server of one thread, 504 from a gateway that gave up", true, false, func(d *draw) model {
			rate := d.limit()
			g := &gateway{rate: rate, patience: (4 + 6*d.rng.Float64()) / rate, rng: d.rng, idle: d.idle}
			d.idle += 1 / rate
			return g
		}},
	}
}

// tides returns providers whose limit moves, or who go away.
func tides() []Family {
	return []Family{
		{"night", "token bucket that is less than half for 20 of 40 minutes, bare 429", true, false, func(d *draw) model {
			rate, part, at := d.limit(), 0.2+0.3*d.rng.Float64(), 2400*d.rng.Float64()
			return d.bucket(bare, func(now float64) float64 {
				if math.Mod(now+at, 2400) < 1200 {
					return part * rate
				}
				return rate
			})
		}},
		{"raised", "token bucket that rises to four times its rate, bare 429", true, false, func(d *draw) model {
			rate, at := d.limit()/4, 600+1200*d.rng.Float64()
			return d.bucket(bare, func(now float64) float64 {
				if now < at {
					return max(0.2, rate)
				}
				return 4 * max(0.2, rate)
			})
		}},
		{"dip", "token bucket that falls to a third for ten minutes, bare 429", true, false, func(d *draw) model {
			rate := d.limit()
			d.cut = 900 + 900*d.rng.Float64()
			from := d.cut
			return d.bucket(bare, func(now float64) float64 {
				if now >= from && now < from+600 {
					return rate / 3
				}
				return rate
			})
		}},
		{"outage", "token bucket, bare 429, and 503 to everything for three minutes", true, false, func(d *draw) model {
			rate := d.limit()
			up := d.counting(bare, steady(rate), &bucket{rate: steady(rate), burst: 5, tokens: 5})
			return &away{counting: *up, from: 900 + 900*d.rng.Float64(), length: 180, said: reply{status: 503, latency: d.idle}}
		}},
	}
}

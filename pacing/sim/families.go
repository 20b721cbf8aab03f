package sim

import "math"

// Families returns the kinds of providers that the score is over.
func Families() []Family {
	return []Family{
		{"window", "fixed window, bare 429", true, false, func(d *draw) model { return d.fixed(bare) }},
		{"window-after", "fixed window, Retry-After", true, false, func(d *draw) model { return d.fixed(retryAfter) }},
		{"window-headers", "fixed window, announced by X-RateLimit headers", true, true, func(d *draw) model { return d.fixed(announced) }},
		{"window-ietf", "fixed window, announced by RateLimit fields", true, true, func(d *draw) model { return d.fixed(structured) }},
		{"bucket", "token bucket, bare 429", true, false, func(d *draw) model { return d.bucket(bare, steady(d.limit())) }},
		{"bucket-after", "token bucket, Retry-After", true, false, func(d *draw) model { return d.bucket(retryAfter, steady(d.limit())) }},
		{"window-down", "minutes of the clock, Retry-After rounded down", true, false, func(d *draw) model {
			n := max(2, math.Round(60*d.limit()))
			return d.counting(roundedDown, steady(n/60), &fixedWindow{n: n, w: 60})
		}},
		{"bucket-zero", "token bucket, Retry-After: 0", true, false, func(d *draw) model { return d.bucket(atOnce, steady(d.limit())) }},
		{"bucket-rate", "token bucket, its rate in a header, bare 429", true, true, func(d *draw) model { return d.bucket(rated, steady(d.limit())) }},
		{"quota-back", "a quota for 20 minutes, spent early or late, in a token bucket, bare 429", true, false, func(d *draw) model {
			rate := d.limit()
			c := d.bucket(bare, steady(0.7*rate))
			quota := math.Round(0.7 * rate * 1200)
			c.limits = []limiter{&bucket{rate: steady(rate), burst: 10, tokens: 10}, &fixedWindow{n: quota, w: 1200}}
			c.best = steady(quota / 1200)
			return c
		}},
		{"sliding", "sliding window, bare 429", true, false, func(d *draw) model {
			n, w := d.window(d.limit())
			return d.counting(bare, steady(n/w), &slidingWindow{n: n, w: w})
		}},
		{"several", "a short window inside of a long one, bare 429", true, false, func(d *draw) model {
			rate := max(0.5, d.limit())
			short, long := math.Ceil(2*rate), math.Round(60*rate)
			return d.counting(bare, steady(rate), &bucket{rate: steady(short), burst: short, tokens: short},
				&fixedWindow{n: long, w: 60, phase: 60 * d.rng.Float64()})
		}},
		{"weighted", "some requests cost four, bare 429", true, false, func(d *draw) model {
			d.cost = oneInFive
			rate := d.limit()
			return d.counting(bare, steady(rate), &bucket{rate: steady(rate), burst: 8 + 4*rate, tokens: 8})
		}},
		{"step", "token bucket that falls to a quarter, bare 429", true, false, func(d *draw) model {
			rate := d.limit()
			d.cut = 1200 + 600*d.rng.Float64()
			return d.bucket(bare, step(rate, d.cut))
		}},
		{"wander", "token bucket that wanders, bare 429", true, false, func(d *draw) model { return d.bucket(bare, wander(d.rng, d.limit())) }},
		{"concurrency", "requests in flight are counted, bare 429", true, false, func(d *draw) model {
			d.idle = 0.3 * math.Exp(d.rng.Float64()*math.Log(7))
			return &crowded{most: 2 + d.rng.IntN(9), rng: d.rng, idle: d.idle}
		}},
		{"overload", "a queue that refuses with 503 when it is long", true, false, func(d *draw) model {
			return d.serving(2 + 3*d.rng.Float64())
		}},
		{"queue", "a queue that never refuses", true, false, func(d *draw) model {
			return d.serving(0)
		}},
		{"tarpit", "what is too fast is answered late", true, false, func(d *draw) model {
			rate := d.limit()
			return &tarpit{allowed: bucket{rate: steady(rate), burst: 5, tokens: 5}, late: 3 + 5*d.rng.Float64(), rng: d.rng, idle: d.idle}
		}},
		{"quota", "a day's quota that ends within the hour, bare 429", false, false, func(d *draw) model {
			n := math.Round(3600 * d.limit() / 3)
			return d.counting(bare, steady(n/3600), &fixedWindow{n: n, w: 86400})
		}},
		{"ban-refusals", "bans after 40 refusals in ten minutes", true, false, func(d *draw) model {
			return &punishing{counting: *d.bucket(bare, steady(d.limit())), tooMany: 40}
		}},
		{"ban-soft", "403 for ten minutes instead of a refusal, and a ban for ignoring it", false, false, func(d *draw) model {
			return &punishing{counting: *d.bucket(bare, steady(d.limit())), block: 600}
		}},
		{"ban-hidden", "bans, unannounced, above a rate that is over the owner's ceiling", true, false, func(d *draw) model {
			return &hidden{seen: slidingWindow{n: Ceiling + 2 + float64(d.rng.IntN(10)), w: 1}, rng: d.rng, idle: d.idle}
		}},
		{"penalty", "a refusal is followed by refusing everything for a while", true, false, func(d *draw) model {
			return &punishing{counting: *d.bucket(bare, steady(d.limit())), box: 10 + 50*d.rng.Float64()}
		}},
		{"baseless", "one request in 300 is refused for nothing", true, false, func(d *draw) model {
			return &punishing{counting: *d.bucket(bare, steady(d.limit())), baseless: 1.0 / 300}
		}},
		{"co-tenant", "somebody else uses half of it, in bursts", true, false, func(d *draw) model {
			rate := max(0.5, d.limit())
			return &shared{counting: *d.counting(bare, nil, &bucket{rate: steady(rate), burst: 5 + rate, tokens: 5}),
				rate: rate, on: 20 + 40*d.rng.Float64(), off: 60 + 120*d.rng.Float64()}
		}},
		{"pausing", "it stands still for 1 to 8 s every 10 to 90 s, and then answers all that wait; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			c := d.limitOrNone()
			length, every := d.between(1, 8), d.between(10, 90)
			waits := Workers / c.best(0) // seconds of a pause in which requests still leave
			c.best = steady(c.best(0) * (1 - max(0, length-waits)/every))
			return d.telling(c, func(r *reply, now, _ float64) {
				if left := length - math.Mod(now, every); left > 0 {
					r.latency += left
				}
			})
		}},
	}
}

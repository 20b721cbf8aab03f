package sim

import (
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
)

// Untuned returns kinds of providers that the law was never tuned on: ordinary ones,
// limits that last longer than an hour, and limits that vendors document. Those who
// work on the law look at their figures, and not at their seeds.
func Untuned() []Family {
	return slices.Concat(latencies(), lasting(), spoken(), vendors())
}

// latencies returns providers whose answers come from caches and shards.
func latencies() []Family {
	return []Family{
		{"two-modes", "some answers in 30 ms and some in 400 ms; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			c := d.limitOrNone()
			return d.telling(c, d.modes(0.3+0.4*d.rng.Float64(), 0.02+0.02*d.rng.Float64(), 0.3+0.2*d.rng.Float64()))
		}},
		{"scattered", "latencies of a log-normal distribution with sigma 1; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			d.idle *= math.Exp(0.5) // of the median that was drawn, the mean
			return d.telling(d.limitOrNone(), d.scattered(1))
		}},
		{"one-slow", "one answer in ten takes 8 to 20 times as long; a token bucket or no limit, bare 429", true, false, func(d *draw) model {
			quick := d.idle
			return d.telling(d.limitOrNone(), d.modes(0.9, quick, quick*(8+12*d.rng.Float64())))
		}},
		{"cached", "a cache in front of a token bucket: hits are quick and not counted, bare 429", true, false, func(d *draw) model {
			rate := d.limit()
			burst := 8 + 4*rate // of less, misses that come together are refused below the limit
			c := d.counting(bare, steady(rate), &bucket{rate: steady(rate), burst: burst, tokens: burst})
			return &cached{counting: *c, hits: 0.3 + 0.6*d.rng.Float64()}
		}},
	}
}

// limitOrNone draws a token bucket, or a provider without a limit that the owner
// could reach.
func (d *draw) limitOrNone() *counting {
	if d.rng.IntN(2) == 0 {
		return d.unlimited()
	}
	return d.bucket(bare, steady(d.limit()))
}

func (d *draw) unlimited() *counting {
	const plenty = 1e9
	return d.counting(bare, steady(Ceiling), &bucket{rate: steady(plenty), burst: plenty, tokens: plenty})
}

// modes draws latencies that are one of two, with a little jitter.
func (d *draw) modes(share, quick, slow float64) func(*reply, float64, float64) {
	d.idle = share*quick + (1-share)*slow
	return func(r *reply, _, _ float64) {
		r.latency = slow
		if d.rng.Float64() < share {
			r.latency = quick
		}
		r.latency *= 0.9 + 0.2*d.rng.Float64()
	}
}

// A cached provider answers a share of the requests without counting them. What
// it refused is not in the cache when it is asked for again.
type cached struct {
	counting
	hits float64

	owed int // refused, and not yet asked for again
}

func (c *cached) capacity(now float64) float64 { return min(Ceiling, c.best(now)/(1-c.hits)) }

func (c *cached) answer(now, cost float64, inFlight int) reply {
	if c.owed > 0 {
		c.owed--
	} else if c.rng.Float64() < c.hits {
		return reply{status: 200, latency: jitter(c.rng, 0.02)}
	}
	r := c.counting.answer(now, cost, inFlight)
	if r.status != 200 {
		c.owed++
	}
	return r
}

// lasting returns providers of whom an hour tells too little.
func lasting() []Family {
	return []Family{
		{"cdn-block", "five minutes of the clock, and a block of five minutes for more, bare 429", true, false, func(d *draw) model {
			d.long = 3 * 3600
			n := math.Round(300 * d.between(0.5, 8))
			c := d.counting(bare, steady(n/300), &fixedWindow{n: n, w: 300, phase: 300 * d.rng.Float64()})
			return &punishing{counting: *c, box: 300}
		}},
		{"long-block", "token bucket, and a block of 10 to 30 minutes for more, bare 429", true, false, func(d *draw) model {
			d.long = 12 * 3600
			return &punishing{counting: *d.bucket(bare, steady(d.between(0.2, 2))), box: 600 + 1200*d.rng.Float64()}
		}},
		{"outage-hung", "token bucket, bare 429, and no answer for 1 to 60 minutes", true, false, func(d *draw) model {
			return d.outage(reply{hang: true, absent: true})
		}},
		{"outage-dead", "token bucket, bare 429, and no connection for 1 to 60 minutes", true, false, func(d *draw) model {
			return d.outage(reply{dead: true, absent: true, latency: 0.02})
		}},
		{"outage-503", "token bucket, bare 429, and 503 to everything for 1 to 60 minutes", true, false, func(d *draw) model {
			return d.outage(reply{status: 503, absent: true, latency: d.idle})
		}},
		{"office-hours", "token bucket of which another client uses 70 % for 8 of 24 hours, bare 429", true, false, func(d *draw) model {
			d.long = 24 * 3600
			rate, begun := d.between(0.2, 2), 86400*d.rng.Float64()
			return d.bucket(bare, func(now float64) float64 {
				if math.Mod(now+begun, 86400) < 8*3600 {
					return 0.3 * rate
				}
				return rate
			})
		}},
		{"hour-quota", "an hour's quota, announced by GitHub's fields, 403", true, true, func(d *draw) model {
			c := d.hours(math.Round(d.between(1000, 15000)), 1, Ceiling, 2, 1)
			return d.telling(c, github(d.clock(), c.limits[0]))
		}},
		{"ten-and-one", "two streams that nobody declared, of about 10 and 1 a second, bare 429", true, false, func(d *draw) model {
			d.paths = []string{"/records", "/details"}
			return routed{d.bucket(bare, steady(d.between(8, 12))), d.bucket(bare, steady(d.between(0.8, 1.2)))}
		}},
	}
}

// outage draws a bucket that is away for 1 to 60 minutes, and an hour after it.
func (d *draw) outage(said reply) model {
	rate := d.limit()
	up := d.counting(bare, steady(rate), &bucket{rate: steady(rate), burst: 5, tokens: 5})
	a := &away{counting: *up, from: 900 + 900*d.rng.Float64(), length: d.between(60, 3600), said: said}
	d.back = a.from + a.length
	d.long = d.back + 3600
	return a
}

// hours draws a quota of n requests for some hours, whose window began some time ago.
// The work of the rest of that window tells, and that of the next windows, as many as
// after says, where the last one ends after last hours. No client is quicker than pace.
func (d *draw) hours(n, hours, pace float64, after int, last float64) *counting {
	w := 3600 * hours
	left := w * d.rng.Float64()
	d.long = left + float64(after-1)*w + 3600*last
	most := min(n, left*pace) + float64(after)*n
	return d.counting(bare, steady(most/d.long), &fixedWindow{n: n, w: w, phase: w - left})
}

// spoken returns providers whose words are easily taken for something else.
func spoken() []Family {
	return []Family{
		// Salesforce says REQUEST_LIMIT_EXCEEDED for the day's requests, and for
		// those at once: "API Request Limits and Allocations",
		// developer.salesforce.com/docs/platform/salesforce-app-limits-cheatsheet.
		{"quota-code", "token bucket, 403 with a code that others use for a day's quota", true, false, func(d *draw) model {
			return d.telling(d.bucket(bare, steady(d.between(2, 10))), refusal(403,
				`[{"message":"Request limit exceeded.","errorCode":"REQUEST_LIMIT_EXCEEDED"}]`))
		}},
		// Google tells of a day's quota in a QuotaFailure, and asks to come back in
		// half a minute in the same answer: github.com/google-gemini/gemini-cli,
		// issue 8437, has one.
		{"day-32s", "a day's quota, 429 with a delay of 32 s", true, false, func(d *draw) model {
			c := d.hours(math.Round(d.between(1000, 10000)), 24, Ceiling, 1, 2)
			return d.telling(c, refusal(429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota.","details":[`+
				`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},`+
				`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"32s"}]}}`))
		}},
	}
}

// refusal refuses with a status and a body.
func refusal(status int, body string) func(*reply, float64, float64) {
	return func(r *reply, _, wait float64) {
		if wait > 0 {
			r.status, r.body = status, body
		}
	}
}

// all tells in several ways.
func all(ways ...func(*reply, float64, float64)) func(*reply, float64, float64) {
	return func(r *reply, now, wait float64) {
		for _, tell := range ways {
			tell(r, now, wait)
		}
	}
}

// waits asks for silence until there is more, in whole seconds.
func waits(r *reply, _, wait float64) {
	if wait > 0 {
		r.header.Set("Retry-After", whole(math.Ceil(wait)))
	}
}

func header(r *reply, name, value string) {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
}

// costs draws the cost of a request, of one in the mean: most are alike.
func costs(rng *rand.Rand) float64 { return math.Exp(0.5*rng.NormFloat64() - 0.125) }

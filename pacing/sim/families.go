package sim

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"collect/collection"
)

// A Family is a kind of provider.
type Family struct {
	Name  string // short and unique
	About string

	// Learnable says that the work done counts: the limit can be found by a
	// client that behaves, within an hour.
	Learnable bool

	// Announced says that headers tell the limit before it is reached.
	Announced bool

	build func(d *draw) model
}

// A draw is where an instance takes its parameters from.
type draw struct {
	rng   *rand.Rand
	idle  float64                  // seconds a request takes when no other one waits
	paths []string                 // that are asked for
	cost  func(*rand.Rand) float64 // of a request; nil: 1
	cut   float64                  // when the limit falls, in seconds
	back  float64                  // when an outage ends, in seconds
	long  float64                  // seconds of work that tell; 0: an hour
	job   Schedule                 // the requests that are asked for; zero: as many as there can be
	owner collection.Provider      // what the owner allows
	sound bool                     // nothing goes wrong for no reason
}

// limit draws a rate from 0.2 to 16 per second, evenly in its logarithm.
func (d *draw) limit() float64 { return 0.2 * math.Exp(d.rng.Float64()*math.Log(80)) }

// between draws a number, evenly in its logarithm.
func (d *draw) between(least, most float64) float64 {
	return least * math.Exp(d.rng.Float64()*math.Log(most/least))
}

// window draws one of the spans that providers use, and how many requests of
// the rate fit in it.
func (d *draw) window(rate float64) (n, w float64) {
	for {
		w = []float64{1, 10, 60, 60, 300}[d.rng.IntN(5)]
		if n = math.Round(rate * w); n >= 2 {
			return n, w
		}
	}
}

func (d *draw) fixed(s style) *counting {
	n, w := d.window(d.limit())
	return d.begun(s, n, w)
}

// begun draws when a window of n in w begins.
func (d *draw) begun(s style, n, w float64) *counting {
	return d.counting(s, steady(n/w), &fixedWindow{n: n, w: w, phase: w * d.rng.Float64()})
}

func (d *draw) bucket(s style, rate func(float64) float64) *counting {
	burst := math.Round(1 + 40*d.rng.Float64()*d.rng.Float64())
	return d.counting(s, rate, &bucket{rate: rate, burst: burst, tokens: burst})
}

func (d *draw) counting(s style, best func(float64) float64, limits ...limiter) *counting {
	return &counting{limits: limits, style: s, best: best, rng: d.rng, idle: d.idle}
}

// oneInFive is the cost of a request where one in five costs four.
func oneInFive(rng *rand.Rand) float64 {
	if rng.Float64() < 0.2 {
		return 4
	}
	return 1
}

// serving draws a queue with one server: an answer takes at least its work.
func (d *draw) serving(longest float64) *serving {
	rate := d.limit()
	d.idle += 1 / rate
	return &serving{rate: rate, longest: longest + 1/rate*min(1, longest), rng: d.rng, idle: d.idle}
}

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
	}
}

// New draws an instance of the family, which starts now.
func (f Family) New(seed uint64) *Provider {
	h := fnv.New64a()
	h.Write([]byte(f.Name))
	d := &draw{rng: rand.New(rand.NewPCG(seed, h.Sum64())), paths: []string{"/records"}, owner: lab()}
	d.idle = 0.06 * math.Exp(d.rng.Float64()*math.Log(6))
	m := f.build(d)
	return &Provider{
		Family: f.Name, Seed: seed, Cut: seconds(d.cut), Back: seconds(d.back), Long: seconds(cmp.Or(d.long, 3600)),
		Job: d.job, owner: d.owner, model: m, paths: d.paths, cost: d.cost, idle: d.idle, sound: d.sound, start: time.Now(),
		rng: rand.New(rand.NewPCG(seed, h.Sum64()+1)), luck: rand.New(rand.NewPCG(seed, h.Sum64()+2)),
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

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

// minutes draws a window of one of the spans, by the clock.
func (d *draw) minutes(spans ...float64) *counting {
	w := spans[d.rng.IntN(len(spans))]
	n := max(2, math.Round(w*d.limit()))
	return d.counting(bare, steady(n/w), &fixedWindow{n: n, w: w})
}

// telling returns c, which tells in its own way.
func (d *draw) telling(c *counting, tell func(r *reply, now, wait float64)) *counting {
	c.tell = tell
	return c
}

package sim

import (
	"math"
	"time"

	"collect/collection"
)

// A Schedule is a job that is run again and again: the requests of each run, and the
// time from the beginning of one run to that of the next.
type Schedule struct {
	Requests int
	Every    time.Duration
	Runs     int
}

// A Run is one run of a job.
type Run struct {
	Took               time.Duration
	Best               time.Duration // what the best client takes, not counting what a bucket has saved up
	Requests, Refusals int
}

// ShareOf returns how much less time the best client would take for runs.
func ShareOf(runs []Run) float64 {
	var took, best time.Duration
	for _, r := range runs {
		took, best = took+r.Took, best+min(r.Took, r.Best)
	}
	return best.Seconds() / took.Seconds()
}

// SlowestOf returns how long the slowest run took that came after the second, and
// how much longer than the second that is. A run of less than a second counts as
// one there: it is a few answers, and how long they take is chance.
func SlowestOf(runs []Run) (took time.Duration, ratio float64) {
	for _, r := range runs[2:] {
		took = max(took, r.Took)
	}
	return took, max(time.Second, took).Seconds() / max(time.Second, runs[1].Took).Seconds()
}

// LongestRun ends a run that does not end by itself.
const LongestRun = 12 * time.Hour

// Repeat lets c do the job of p as s says. What the client wants to keep from
// one run to the next goes to state, and comes from there. A run that takes
// longer than it is to the next puts that off.
func Repeat(p *Provider, c Client, s Schedule, state *[]byte) []Run {
	runs := make([]Run, s.Runs)
	for i := range runs {
		begun := time.Now()
		from := time.Since(p.start)
		runs[i].Took = Job(p, c, s.Requests, LongestRun, state)
		runs[i].Best = p.soonest(s.Requests, from)
		runs[i].Requests, runs[i].Refusals = p.count(from)
		time.Sleep(time.Until(begun.Add(s.Every)))
	}
	return runs
}

// soonest returns how long n requests take from a moment on, at the pace that
// the best client has then.
func (p *Provider) soonest(n int, from time.Duration) time.Duration {
	pace := p.model.capacity(from.Seconds())
	for _, c := range p.owner.Ceilings {
		pace = min(pace, float64(c.Count)/c.Per.Seconds())
	}
	return seconds(float64(n)/pace + p.idle)
}

// count returns the requests since a moment, and how many were refused.
func (p *Provider) count(from time.Duration) (requests, refusals int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.log) - 1; i >= 0 && p.log[i].at >= from.Seconds(); i-- {
		requests++
		if p.log[i].refused {
			refusals++
		}
	}
	return requests, refusals
}

// Jobs returns providers that are asked for little, again and again. Nothing
// goes wrong there for no reason, because one request that hangs is longer than
// most runs.
func Jobs() []Family {
	return []Family{
		{"job-free", "a job at a provider without a limit", true, false, func(d *draw) model {
			d.sometimes(math.Inf(1))
			return d.unlimited()
		}},
		{"job-modes", "a job whose answers take 30 ms or 400 ms, no limit", true, false, func(d *draw) model {
			d.sometimes(math.Inf(1))
			return d.telling(d.unlimited(), d.modes(0.3+0.4*d.rng.Float64(), 0.03, 0.4))
		}},
		{"job-bucket", "a job in a token bucket, bare 429", true, false, func(d *draw) model {
			rate := d.between(0.5, 16)
			d.sometimes(rate)
			return d.bucket(bare, steady(rate))
		}},
		{"job-window", "a job in a window of the clock, Retry-After", true, false, func(d *draw) model {
			w := []float64{1, 10, 60, 300}[d.rng.IntN(4)]
			n := max(2, math.Round(w*d.between(0.5, 16)))
			d.sometimes(n / w)
			return d.counting(retryAfter, steady(n/w), &fixedWindow{n: n, w: w})
		}},
		{"job-crowded", "a job where requests in flight are counted, bare 429", true, false, func(d *draw) model {
			d.idle = d.between(0.3, 2)
			most := 2 + d.rng.IntN(9)
			d.sometimes(float64(most) / d.idle)
			return &crowded{most: most, rng: d.rng, idle: d.idle}
		}},
		{"job-hour", "a job in an hour's quota of 5,000, announced by GitHub's fields", true, true, func(d *draw) model {
			d.sometimes(1)
			c := d.counting(bare, steady(Ceiling), &fixedWindow{n: 5000, w: 3600})
			return d.telling(c, github(d.clock(), c.limits[0]))
		}},
		{"job-daily", "a job of every day, in a token bucket, a window of the clock, or without a limit", true, false, func(d *draw) model {
			return d.seldom(24 * time.Hour)
		}},
		{"job-weekly", "a job of every week, in a token bucket, a window of the clock, or without a limit", true, false, func(d *draw) model {
			return d.seldom(7 * 24 * time.Hour)
		}},
		{"undeclared", "2,020 requests and as many again, 50 a second allowed, and nothing declared", true, false, func(d *draw) model {
			d.owner = collection.Provider{}
			return d.fifty()
		}},
		{"declared-200", "2,020 requests and as many again, 50 a second allowed, and 200 declared", true, false, func(d *draw) model {
			d.owner = collection.Provider{Ceilings: []collection.Ceiling{{Count: 200, Per: time.Second}}}
			return d.fifty()
		}},
	}
}

// sometimes draws a job of 10 to 600 requests that is run 30 times, from 15
// minutes to 25 hours apart: in whole five minutes, so that each run meets the
// same windows, and with time left where rate is what there is.
func (d *draw) sometimes(rate float64) {
	d.sound = true
	n := math.Round(d.between(10, 600))
	least := max(900, 2*n/rate)
	d.job = Schedule{Requests: int(n), Every: seconds(300 * math.Ceil(d.between(least, 90000)/300)), Runs: 30}
}

// seldom draws a job that is run so far apart, and where.
func (d *draw) seldom(every time.Duration) model {
	rate := d.between(0.5, 16)
	d.sometimes(rate)
	d.job.Every = every
	switch d.rng.IntN(3) {
	case 0:
		return d.unlimited()
	case 1:
		return d.bucket(bare, steady(rate))
	}
	n := max(2, math.Round(60*rate))
	return d.counting(bare, steady(n/60), &fixedWindow{n: n, w: 60})
}

// fifty draws a provider that allows fifty a second, and is asked for 2,020
// requests twice.
func (d *draw) fifty() *counting {
	d.sound, d.job = true, Schedule{Requests: 2020, Every: 30 * time.Minute, Runs: 2}
	d.idle = d.between(0.04, 0.15) // of more, eight in flight are less than fifty a second
	burst := math.Round(d.between(25, 100))
	s := []style{bare, retryAfter}[d.rng.IntN(2)]
	return d.counting(s, steady(50), &bucket{rate: steady(50), burst: burst, tokens: burst})
}

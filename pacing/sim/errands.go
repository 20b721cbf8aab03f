package sim

import (
	"math"
	"time"

	"collect/collection"
)

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

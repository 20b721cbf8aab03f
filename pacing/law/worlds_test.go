package law_test

import (
	"math/rand/v2"
	"time"

	"collect/pacing/law"
	"collect/pacing/response"
)

// A world is a provider, and how it is asked.
type world struct {
	name           string
	only           string // the law that it is for; "": all
	start, ceiling float64
	workers        int       // 1 if it is 0
	weights        []float64 // of one request after the other; nil: 1
	lasts          time.Duration
	restart        time.Duration // another process goes on after so long,
	age            time.Duration // which is so much later
	answer         func(*provider) (law.Outcome, time.Duration)
	tell           func(*law.Outcome, law.Moment) // what an answer announces when it arrives; nil: what it did when it was asked for
}

// A provider is what the worlds count in.
type provider struct {
	now    law.Moment // of the request,
	weight float64    // and its cost
	chance *rand.Rand

	tokens  float64
	filled  law.Moment
	window  int64
	used    float64
	recent  []law.Moment
	free    law.Moment   // when a server that works one by one has nothing to do
	busy    []law.Moment // until when places are taken
	refused int
}

// bucket takes the weight out of a bucket that fills at rate.
func (p *provider) bucket(rate, burst float64) bool {
	p.tokens = min(burst, p.tokens+(p.now-p.filled).Seconds()*rate)
	p.filled = p.now
	if p.tokens < p.weight {
		return false
	}
	p.tokens -= p.weight
	return true
}

// fixed counts in windows that begin on the clock.
func (p *provider) fixed(limit float64, per time.Duration) (ok bool, left float64, reset time.Duration) {
	if n := int64(p.now / per); n != p.window {
		p.window, p.used = n, 0
	}
	reset = per - p.now%per
	if p.used+p.weight > limit {
		return false, 0, reset
	}
	p.used += p.weight
	return true, limit - p.used, reset
}

// sliding counts the latest requests.
func (p *provider) sliding(limit int, per time.Duration) bool {
	for len(p.recent) > 0 && p.now-p.recent[0] >= per {
		p.recent = p.recent[1:]
	}
	if len(p.recent) >= limit {
		return false
	}
	p.recent = append(p.recent, p.now)
	return true
}

// place takes one of so many places for a time; a refusal is quick.
func (p *provider) place(places int, took time.Duration) (law.Outcome, time.Duration) {
	busy := 0
	for _, until := range p.busy {
		if until > p.now {
			p.busy[busy] = until
			busy++
		}
	}
	if p.busy = p.busy[:busy]; busy >= places {
		return granted(false), 40 * ms
	}
	p.busy = append(p.busy, p.now+took)
	return granted(true), took
}

// granted makes an outcome of whether a request is granted.
func granted(ok bool) law.Outcome {
	if ok {
		return law.Outcome{Signal: law.Succeeded, Hold: -1}
	}
	return law.Outcome{Signal: law.Throttled, Hold: -1}
}

func announced(o law.Outcome, limit, left float64, reset, per time.Duration) law.Outcome {
	o.Windows = []response.Quota{{Name: "q", Limit: limit, Remaining: left, Reset: reset, Window: per}}
	return o
}

const s = time.Second

var worlds = []world{
	{name: "bucket", start: 1, ceiling: 20, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		return granted(p.bucket(4, 4)), 100 * ms
	}},
	{name: "large-bucket", start: 1, ceiling: 20, workers: 4, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		return granted(p.bucket(2, 120)), 300 * ms
	}},
	{name: "slow", start: 1, ceiling: 4, lasts: 6 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		return granted(p.bucket(0.02, 1)), 100 * ms
	}},
	{name: "minute", start: 1, ceiling: 20, workers: 4, lasts: 2 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		ok, _, _ := p.fixed(100, time.Minute)
		return granted(ok), 200 * ms
	}},
	{name: "minute-retry-after", start: 2, ceiling: 20, workers: 4, lasts: 2 * time.Hour, restart: 70 * time.Minute, age: 30 * time.Minute,
		answer: func(p *provider) (law.Outcome, time.Duration) {
			ok, _, reset := p.fixed(100, time.Minute)
			o := granted(ok)
			if !ok {
				o.Hold = reset
			}
			return o, 200 * ms
		}},
	{name: "ten-minutes", start: 1, ceiling: 10, lasts: 3 * time.Hour, restart: 2 * time.Hour, age: 30 * time.Hour,
		answer: func(p *provider) (law.Outcome, time.Duration) {
			ok, _, _ := p.fixed(900, 10*time.Minute)
			return granted(ok), 50 * ms
		}},
	{name: "sliding", start: 1, ceiling: 10, workers: 2, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		return granted(p.sliding(30, 10*s)), 150 * ms
	}},
	{name: "fewer-later", start: 1, ceiling: 20, lasts: 90 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		rate := 8.0
		if p.now > 90*time.Minute && p.now < 120*time.Minute {
			rate = 2
		}
		return granted(p.bucket(rate, 8)), 100 * ms
	}},
	{name: "outage", start: 1, ceiling: 10, workers: 2, lasts: 90 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		o := granted(p.bucket(6, 6))
		if p.now > 80*time.Minute && p.now < 95*time.Minute {
			o = law.Outcome{Signal: law.Throttled, Weak: true, Hold: -1}
		}
		return o, 100 * ms
	}},
	{name: "long-silence", start: 1, ceiling: 10, lasts: 3 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		o := granted(p.bucket(6, 6))
		if p.now > 80*time.Minute && p.now < 100*time.Minute {
			o = granted(false)
		}
		return o, 100 * ms
	}},
	{name: "weak-refusals", start: 1, ceiling: 12, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		o := granted(p.bucket(9, 9))
		if p.chance.IntN(60) == 0 {
			o = law.Outcome{Signal: law.Throttled, Weak: true, Hold: -1}
		}
		return o, 100 * ms
	}},
	{name: "chance-refusals", start: 1, ceiling: 12, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		return granted(p.chance.IntN(150) != 0 && p.bucket(6, 6)), 100 * ms
	}},
	{name: "failures", start: 1, ceiling: 8, workers: 3, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		o := granted(p.bucket(5, 5))
		switch p.chance.IntN(10) {
		case 0:
			o = law.Outcome{Signal: law.Failed, Hold: -1}
		case 1:
			o = law.Outcome{Signal: law.Answered, Hold: -1}
		case 2:
			o = law.Outcome{Signal: law.Silent, Hold: -1}
		}
		return o, 400 * ms
	}},
	{name: "places", only: law.Plateau, start: 2, ceiling: 20, workers: 8, lasts: 2 * time.Hour, restart: 100 * time.Minute, age: time.Hour,
		answer: func(p *provider) (law.Outcome, time.Duration) {
			places := 3
			if p.now > 110*time.Minute {
				places = 2
			}
			return p.place(places, 700*ms)
		}},
	{name: "places-then-rate", only: law.Plateau, start: 2, ceiling: 20, workers: 6, lasts: 2 * time.Hour,
		answer: func(p *provider) (law.Outcome, time.Duration) {
			if p.now > 100*time.Minute {
				return granted(p.bucket(1, 2)), 100 * ms
			}
			return p.place(3, 900*ms)
		}},
	{name: "more-places-later", only: law.Plateau, start: 2, ceiling: 20, workers: 8, lasts: 2 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		if p.now > 90*time.Minute {
			return p.place(5, 700*ms)
		}
		return p.place(2, 700*ms)
	}},
	{name: "queue", only: law.Plateau, start: 1, ceiling: 20, workers: 16, lasts: 90 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		p.free = max(p.free, p.now) + 180*ms // one after the other, and never a refusal
		return granted(true), p.free - p.now + 60*ms
	}},
	{name: "queue-that-slows", only: law.Plateau, start: 1, ceiling: 10, workers: 16, lasts: 2 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		work := 90 * ms
		if p.now > 100*time.Minute {
			work = 400 * ms
		}
		p.free = max(p.free, p.now) + work + time.Duration(p.chance.IntN(40))*ms
		return granted(true), p.free - p.now + 60*ms
	}},
	{name: "some-late", only: law.Plateau, start: 1, ceiling: 12, workers: 16, lasts: 90 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		took := 80*ms + time.Duration(p.chance.IntN(60))*ms
		if !p.bucket(5, 10) && p.chance.IntN(2) == 0 {
			took += 4 * s
		}
		return granted(true), took
	}},
	{name: "slow-for-no-reason", only: law.Plateau, start: 1, ceiling: 6, workers: 16, lasts: 2 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		took := 100*ms + time.Duration(p.chance.IntN(30))*ms
		if p.now > 80*time.Minute && p.now < 110*time.Minute {
			took *= 8
		}
		return granted(true), took
	}},
	{name: "headers", only: law.Plateau, start: 1, ceiling: 20, workers: 4, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		ok, left, reset := p.fixed(300, time.Minute)
		return announced(granted(ok), 300, left, reset, time.Minute), 200 * ms
	}},
	{name: "headers-of-seconds", only: law.Plateau, start: 1, ceiling: 20, workers: 4, lasts: 20 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		ok, left, reset := p.fixed(10, 2*s)
		return announced(granted(ok), 10, left, (reset + s - 1).Truncate(s), 2*s), 100 * ms
	}},
	{name: "headers-that-lie", only: law.Plateau, start: 1, ceiling: 20, lasts: 2 * time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
		ok := p.bucket(3, 3)
		_, left, reset := p.fixed(600, time.Minute)
		return announced(granted(ok), 600, left, reset, time.Minute), 100 * ms
	}},
	{name: "headers-without-a-limit", only: law.Plateau, start: 1, ceiling: 20, lasts: 40 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		ok, left, reset := p.fixed(200, time.Minute)
		if p.now > 90*time.Minute {
			return granted(ok), 100 * ms // they end
		}
		return announced(granted(ok), -1, left, reset, 0), 100 * ms
	}},
	{name: "points", start: 1, ceiling: 40, weights: []float64{1, 5, 1, 0.5, 20}, lasts: 90 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		return granted(p.bucket(10, 40)), 100 * ms
	}},
	{name: "ban", only: law.Plateau, start: 1, ceiling: 20, lasts: time.Hour, restart: 50 * time.Minute, age: 90 * 24 * time.Hour,
		answer: func(p *provider) (law.Outcome, time.Duration) {
			if !p.bucket(5, 60) && p.refused < 3 {
				p.refused++
				return law.Outcome{Signal: law.Silent, Refused: true, Hold: 15 * time.Minute}, 100 * ms
			}
			return granted(true), 100 * ms
		}},
	{name: "grants-all", start: 1, ceiling: 5, lasts: 30 * time.Minute, restart: 20 * time.Minute, age: 3 * time.Hour, answer: func(*provider) (law.Outcome, time.Duration) {
		return granted(true), 100 * ms
	}},
	{name: "little-to-do", start: 1, ceiling: 5, lasts: 30 * time.Minute, answer: func(*provider) (law.Outcome, time.Duration) {
		return granted(true), 3 * s
	}},
}

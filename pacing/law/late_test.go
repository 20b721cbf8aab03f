package law_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestPausesOfOthersAreNoSlowness: a ceiling that lets ten requests out in a
// minute makes long pauses. When answers become slow the pace falls below what
// the provider delivers, and not below what the ceiling lets through.
func TestPausesOfOthersAreNoSlowness(t *testing.T) {
	l := law.NewLearner(1, 20)
	now, drains := t0, 0
	for i := range 100 {
		if i%5 == 0 {
			now = now.Add(time.Minute)
		}
		var sent [2]law.Sent // together, so that none is alone in flight
		for j := range sent {
			at, _ := l.Next(now)
			now = later(now, at)
			sent[j] = l.Send(now)
		}
		latency := 100 * ms
		if i >= 50 {
			latency = 500 * ms
		}
		for _, one := range sent {
			before := l.Rate()
			now = now.Add(latency)
			l.Result(one, law.Result{Signal: law.Succeeded}, now)
			if got := l.Rate(); got < before {
				drains++
				if got < 0.6*min(before, 1/latency.Seconds()) {
					t.Errorf("request %d: answers of %v make %v/s of %v/s", 2*i, latency, got, before)
				}
			}
		}
	}
	if drains == 0 {
		t.Error("the answers were never slow enough")
	}
}

// TestLateFarBelowTheStart: a tarpit answers late whatever is faster than one
// request in four seconds, and the start is four times that. At two thirds of
// it most answers are late as well; that they are so for another reason is
// believed only after much slower was tried. If they are, nothing is lost.
func TestLateFarBelowTheStart(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rate  float64 // from which on it is late; 0: always, after the first minute
		least float64 // of the pace after half an hour
		most  float64
	}{
		{"tarpit", 0.25, 0.15, 0.3},
		{"slow from now on", 0, 4, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, tokens, filled, now := law.NewLearner(1, 20), 3.0, t0, t0
			type answer struct {
				sent law.Sent
				at   time.Time
			}
			var flights []answer // in the order in which they end
			for now.Sub(t0) < 30*time.Minute {
				at, _ := l.Next(now)
				at = later(now, at)
				if len(flights) > 0 && !flights[0].at.After(at) {
					now = later(now, flights[0].at)
					l.Result(flights[0].sent, law.Result{Signal: law.Succeeded}, now)
					flights = flights[1:]
					continue
				}
				now = at
				took := 100 * ms
				tokens = min(5, tokens+now.Sub(filled).Seconds()*tc.rate)
				filled = now
				switch {
				case tc.rate == 0 && now.Sub(t0) > time.Minute, tc.rate > 0 && tokens < 1:
					took = 4 * time.Second
				case tc.rate > 0:
					tokens--
				}
				flights = append(flights, answer{l.Send(now), now.Add(took)})
				slices.SortFunc(flights, func(a, b answer) int { return a.at.Compare(b.at) })
			}
			if got := l.Rate(); got < tc.least || got > tc.most {
				t.Errorf("after half an hour the pace is %.2f/s, want %v to %v", got, tc.least, tc.most)
			}
		})
	}
}

// TestQueueLongerThanOurPatience: a start that is too fast fills a queue whose
// answers come too late for anybody to wait for them. The failures end it. Of
// quick failures it takes no notice.
func TestQueueLongerThanOurPatience(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fails time.Duration // after it
		slows bool
	}{
		{"no answer", 30 * time.Second, true},
		{"refused connections", 10 * ms, false},
	} {
		l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 8}
		answer := func(s law.Signal, after time.Duration) {
			at, _ := l.Next(l.now)
			l.now = later(l.now, at)
			sent := l.Send(l.now)
			l.Result(sent, law.Result{Signal: s}, l.now.Add(after))
		}
		for range 8 {
			answer(law.Succeeded, time.Second)
		}
		before := l.Rate()
		for range 40 {
			answer(law.Failed, tc.fails)
		}
		if got := l.Rate(); tc.slows != (got < before) || got > before {
			t.Errorf("%s: the pace goes from %v to %v, slower: want %v", tc.name, before, got, tc.slows)
		}
		for range 25 {
			answer(law.Succeeded, time.Second)
		}
		if got := l.Rate(); !tc.slows && got < before {
			t.Errorf("%s: with answers again the pace goes from %v to %v", tc.name, before, got)
		}
	}
}

// TestStartThatLosesRequests: a server that takes so long for one that a few of
// them are as long as we wait. It answers some of the first and does the others
// in vain, and too few answers tell how quick it is. The start ends all the
// same.
func TestStartThatLosesRequests(t *testing.T) {
	for _, each := range []time.Duration{4 * s, 5 * s, 6 * s} {
		answered := 0
		w := world{start: 1, ceiling: 20, workers: 32, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
			p.free = max(p.free, p.now) + each
			if took := p.free - p.now; took < 30*s {
				answered++
				return granted(true), took
			}
			return law.Outcome{Signal: law.Failed, Hold: -1}, 30 * s
		}}
		w.play(t, law.Plateau)
		if share := float64(answered) / float64(time.Hour/each); share < 0.6 {
			t.Errorf("%v for each request: in an hour %.0f %% of what it can do was answered, want 60 %%", each, 100*share)
		}
	}
}

// TestScatteredLatencies: answers that now and then take several times as long
// as most, at any pace, are no reason to slow down for good.
func TestScatteredLatencies(t *testing.T) {
	for sigma, want := range map[float64]float64{0.3: 0.95, 0.6: 0.9, 0.8: 0.85, 1: 0.65} {
		answered, limit := 0, 0
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 1))
			w := world{start: 1, ceiling: 20, workers: 32, lasts: 30 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
				ok := p.bucket(5, 10)
				if ok {
					answered++
				}
				return granted(ok), time.Duration(float64(600*ms) * math.Exp(sigma*rng.NormFloat64()))
			}}
			w.play(t, law.Plateau)
			limit += 5 * 1800
		}
		if share := float64(answered) / float64(limit); share < want {
			t.Errorf("latencies that scatter by %v, as a normal exponent: %.0f %% of the limit is used, want %.0f %%", sigma, 100*share, 100*want)
		}
	}
}

// TestLone503InADrain: a bare 503 while a queue is being emptied says no more
// than at any other time, and the pace comes back.
func TestLone503InADrain(t *testing.T) {
	answered := 0
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 2))
		w := world{start: 1, ceiling: 20, workers: 32, lasts: time.Hour, answer: func(p *provider) (law.Outcome, time.Duration) {
			if rng.IntN(80) == 0 {
				return law.Outcome{Signal: law.Throttled, Weak: true, Hold: -1}, 20 * ms
			}
			answered++
			p.free = max(p.free, p.now) + 350*ms + time.Duration(rng.IntN(100))*ms
			return granted(true), p.free - p.now
		}}
		w.play(t, law.Plateau)
	}
	if share := float64(answered) / (8 * 3600 / 0.4); share < 0.82 {
		t.Errorf("%.0f %% of what the queue can do was asked of it, want 82 %%", 100*share)
	}
}

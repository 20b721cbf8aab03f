package law_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"collect/pacing/law"
)

// A trouble is what goes wrong with a list that is asked for page by page, 50 ms each.
type trouble struct {
	name   string
	over   time.Duration // when it is
	answer func(n int, now time.Duration) (law.Outcome, time.Duration)
}

// second returns how many requests leave in the second minute after it was over.
func (tr trouble) second(t *testing.T, ceiling float64) int {
	n, after := 0, 0
	w := world{start: 1, ceiling: ceiling, workers: 1, lasts: tr.over + 2*time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		n++
		now := p.now - time.Hour
		if now >= tr.over+time.Minute && now < tr.over+2*time.Minute {
			after++
		}
		return tr.answer(n, now)
	}}
	w.play(t, law.Plateau)
	return after
}

// slowFor answers late for a while.
func slowFor(from, length time.Duration) trouble {
	return trouble{fmt.Sprintf("slow for %v after %v", length, from), from + length, func(_ int, now time.Duration) (law.Outcome, time.Duration) {
		if from <= now && now < from+length {
			return granted(true), 4 * s
		}
		return granted(true), 50 * ms
	}}
}

// failing answers some requests with a failure that takes so long.
func failing(name string, over, takes time.Duration, which ...int) trouble {
	return trouble{name, over, func(n int, _ time.Duration) (law.Outcome, time.Duration) {
		if slices.Contains(which, n) {
			return law.Outcome{Signal: law.Failed, Hold: -1, Overdue: true}, takes
		}
		return granted(true), 50 * ms
	}}
}

// TestTroubleOfAList: trouble that is over costs what it lasted: a minute later the pace is what it would be without.
func TestTroubleOfAList(t *testing.T) {
	for _, tr := range []trouble{
		slowFor(180*s, 15*s),
		slowFor(180*s, 60*s),
		slowFor(2*s, 15*s),
		failing("six 502 of 29", 60*s, 20*ms, 4, 6, 13, 16, 23, 29),
		failing("three unanswered", 120*s, 30*s, 9, 10, 11),
	} {
		for _, ceiling := range []float64{0, 40} {
			if got := tr.second(t, ceiling); got < 500 {
				t.Errorf("%s, ceiling %v: %d requests in the second minute after it was over, want 500", tr.name, ceiling, got)
			}
		}
	}
}

// TestChanceFailuresOfAList: of forty lists that fail by chance nearly all are as fast as they can be some minutes
// later: where one in five fails at first, where one in twelve does all the time, and where all do for fifteen
// seconds.
func TestChanceFailuresOfAList(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fails func(n int, now time.Duration, chance float64) bool
		least int // lists
	}{
		{"at first", func(n int, _ time.Duration, chance float64) bool { return n < 30 && chance < 0.2 }, 36},
		{"all the time", func(_ int, _ time.Duration, chance float64) bool { return chance < 0.08 }, 33},
		{"all of them", func(_ int, now time.Duration, _ float64) bool { return 20*s <= now && now < 35*s }, 40},
	} {
		for _, ceiling := range []float64{0, 40} {
			fast := 0
			for seed := range uint64(40) {
				rng := rand.New(rand.NewPCG(seed, 7))
				tr := trouble{over: 2 * time.Minute, answer: func(n int, now time.Duration) (law.Outcome, time.Duration) {
					if tc.fails(n, now, rng.Float64()) {
						return law.Outcome{Signal: law.Failed, Hold: -1, Overdue: true}, 20 * ms
					}
					return granted(true), time.Duration(45+rng.IntN(10)) * ms
				}}
				if tr.second(t, ceiling) > 1000 {
					fast++
				}
			}
			if fast < tc.least {
				t.Errorf("%s, ceiling %v: %d of 40 are fast, want %d", tc.name, ceiling, fast, tc.least)
			}
		}
	}
}

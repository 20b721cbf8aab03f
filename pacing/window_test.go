package pacing_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

// busiest returns the most arrivals in any window of length per.
func busiest(arrivals []time.Time, per time.Duration) int {
	slices.SortFunc(arrivals, time.Time.Compare)
	most, from := 0, 0
	for i, at := range arrivals {
		for at.Sub(arrivals[from]) >= per {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// TestCeilingsHoldAtOnce runs many requests side by side against two windows,
// of which each is the stricter one at some time.
func TestCeilingsHoldAtOnce(t *testing.T) {
	for _, unpaced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(rand.N(400 * ms))
				ok(w, r)
			})
			ceilings := []collection.Ceiling{{Count: 5, Per: time.Second}, {Count: 30, Per: time.Minute}, {Count: 100, Per: 24 * time.Hour}}
			g := govern(t, pacing.Config{Base: m, Concurrency: 8, Provider: collection.Provider{Ceilings: ceilings, Unpaced: unpaced, Limits: collection.Limits{LongestWait: 24 * time.Hour}}})
			start := time.Now()
			var wg sync.WaitGroup
			for range 120 {
				wg.Go(func() { mustFetch(t, g) })
			}
			wg.Wait()
			for _, c := range ceilings {
				if got := busiest(m.arrivals, c.Per); got > c.Count {
					t.Errorf("%d requests in %v, want at most %d", got, c.Per, c.Count)
				}
			}
			if got := time.Since(start); got < 24*time.Hour || got > 24*time.Hour+5*time.Minute {
				t.Errorf("120 requests at 100 a day took %v", got)
			}
			if got := busiest(m.arrivals, time.Second); unpaced && got != 5 {
				t.Errorf("unpaced, at most %d requests in a second, want the ceiling of 5 to be used", got)
			}
		})
	}
}

// TestCeilingSurvivesKills kills the process at random, without a word, and
// goes on with whatever was saved.
func TestCeilingSurvivesKills(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			ceiling := collection.Ceiling{Count: 300, Per: time.Hour}
			m := serve(ok)
			var d disk
			for time.Since(t0Of(m)) < 3*time.Hour && m.count() < 700 {
				g := govern(t, pacing.Config{Base: m, Save: d.save, Restore: d.state,
					Budget:   pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 1 + rng.Int64N(60), MaxTime: time.Hour}),
					Provider: collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{ceiling}}})
				for {
					if _, err := fetch(t, g); err != nil {
						break
					}
				}
				time.Sleep(time.Duration(rng.IntN(3)) * time.Minute)
			}
			if got := busiest(m.arrivals, ceiling.Per); got > ceiling.Count || got < ceiling.Count/2 {
				t.Errorf("seed %d: %d requests in an hour, want at most %d and not far from it", seed, got, ceiling.Count)
			}
			if d.saves > m.count() {
				t.Errorf("seed %d: %d saves for %d requests", seed, d.saves, m.count())
			}
		})
	}
}

// t0Of returns when the first request came.
func t0Of(m *memory) time.Time {
	if len(m.arrivals) == 0 {
		return time.Now()
	}
	return m.arrivals[0]
}

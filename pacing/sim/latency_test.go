package sim_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// TestOrdinaryLatencies: answers that come from a cache, from shards or with a
// long tail are not taken for a queue, and cost at most a tenth of the work.
func TestOrdinaryLatencies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	modes := func(share, quick, slow float64) func(*rand.Rand) float64 {
		return func(rng *rand.Rand) float64 {
			if rng.Float64() < share {
				return quick
			}
			return slow
		}
	}
	for _, tc := range []struct {
		name    string
		latency func(*rand.Rand) float64
		now     float64 // where it is, if not where it is wanted
	}{
		{"half cached", modes(0.5, 0.03, 0.4), 0},
		{"70 in 100 cached", modes(0.7, 0.03, 0.4), 0},
		{"30 in 100 cached", modes(0.3, 0.03, 0.4), 0},
		{"one in ten slow", modes(0.9, 0.05, 1), 0},
		{"half cached, a second", modes(0.5, 0.02, 1), 0},
		{"log-normal, σ 1", func(rng *rand.Rand) float64 { return 0.15 * math.Exp(rng.NormFloat64()) }, 0.85},
		{"Pareto", func(rng *rand.Rand) float64 { return 0.08 * math.Pow(1-rng.Float64(), -1/1.5) }, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const records, ceiling = 20_000, 20
			synctest.Test(t, func(t *testing.T) {
				var state []byte
				took := sim.Job(sim.Plain(nil, tc.latency), sim.Owned(perSecond(ceiling), sim.Workers), records, 3*time.Hour, &state)
				share := records / granted(ceiling) / took.Seconds()
				t.Logf("%.0f %% of the work: %v", 100*share, took)
				if want := cmp.Or(tc.now, 0.9); share < want {
					t.Errorf("%.0f %% of the work, want %.0f %%", 100*share, 100*want)
				}
			})
		})
	}
}

// TestPauses: a provider that stands still now and then, and answers all that waited when it goes on, is not
// taken for one that has too much to do. At most as many requests as may be in flight leave in a pause.
func TestPauses(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, tc := range []struct {
		ceiling, pause, every float64
	}{{20, 5, 60}, {100, 5, 60}, {20, 2, 10}, {100, 2, 10}, {100, 0.3, 1}} {
		t.Run(fmt.Sprintf("%v s of %v s at %v a second", tc.pause, tc.every, tc.ceiling), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				p := sim.Plain(nil, func(rng *rand.Rand) float64 {
					left := tc.pause - math.Mod(time.Since(begun).Seconds(), tc.every)
					return max(0, left) + 0.015*math.Exp(0.3*rng.NormFloat64()) + 0.1*rng.Float64()*min(1, max(0, left))
				})
				var state []byte
				sim.Play(p, sim.Owned(perSecond(int(tc.ceiling)), sim.Workers), time.Hour, &state)
				_, requests := p.Refused()
				most := tc.ceiling * (1 - max(0, tc.pause-sim.Workers/tc.ceiling)/tc.every)
				share := float64(requests) / 3600 / most
				t.Logf("%.0f %% of the work", 100*share)
				if share < 0.9 {
					t.Errorf("%.0f %% of the work, want 90 %%", 100*share)
				}
			})
		})
	}
}

// TestChanceOfLatenciesIsNotForLong: of latencies that scatter, a slower pace may
// seem to have made some quicker. More is tried soon after, however well the limit
// was confirmed before.
func TestChanceOfLatenciesIsNotForLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds under the race detector")
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := family(t, "scattered").New(640001) // one in which that happens, again and again
		var state []byte
		sim.Play(p, sim.Owned(perSecond(sim.Ceiling), sim.Workers), time.Hour, &state)
		if got := p.Score(0, time.Hour).Share; got < 0.9 {
			t.Errorf("%.0f %% of the work, want 90 %%", 100*got)
		}
	})
}

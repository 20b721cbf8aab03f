package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// TestWhatIsInDoubtIsTried plays instances at which something was taken for known
// that was not.
func TestWhatIsInDoubtIsTried(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, tc := range []struct {
		about    string
		family   string
		seed     uint64
		work     float64 // at least
		refusals int     // at most
	}{
		{"a level at which bare 503s come does not hold, if nothing else was ever refused", "limit-req", 41, 0.95, 60},
		{"a count while all requests hang is of that, and not of the limit", "dropping", 152304331, 0.8, 450},
	} {
		t.Run(tc.family, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := family(t, tc.family).New(tc.seed)
				c := sim.Owned(perSecond(sim.Ceiling), sim.Workers)
				var state []byte
				sim.Play(p, c, time.Hour, &state)
				got := p.Score(0, time.Hour)
				if got.Share < tc.work || got.Refusals > tc.refusals {
					t.Errorf("%s: %.0f %% of the work with %d refusals, want %.0f %% with %d", tc.about, 100*got.Share, got.Refusals, 100*tc.work, tc.refusals)
				}
			})
		})
	}
}

// TestBareLimitIsFound plays the first minutes at nginx's limit_req, whose bare 503s may be chance: what a broken server
// of several would say, whatever the pace is.
func TestBareLimitIsFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		about    string
		seed     uint64
		work     float64 // at least
		refusals int     // at most
	}{
		{"a count is from the first of the 503s, and not from before, when the burst or the start made another rate of it", 508, 0.85, 12},
		{"the same, with more of a burst", 509, 0.85, 12},
		{"a trial in which far more is refused than before goes on at what is granted", 515, 0.95, 16},
		{"the same at less than a request a second", 519, 0.95, 14},
		{"the same", 528, 0.95, 14},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := sim.Try(family(t, "limit-req"), tc.seed, sim.Setup{For: 3 * time.Minute})
			if got.Share < tc.work || got.Refusals > tc.refusals {
				t.Errorf("seed %d, %s: %.0f %% of the work with %d refusals, want %.0f %% with %d", tc.seed, tc.about, 100*got.Share, got.Refusals, 100*tc.work, tc.refusals)
			}
		})
	}
}

// TestIrregularBlocksOfNoLimit: everything is refused for 40 s, after gaps that are drawn exponentially around
// 70 s, whatever the pace is. That one of them comes early tells nothing.
func TestIrregularBlocksOfNoLimit(t *testing.T) {
	t.Parallel()
	sum := 0.0
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			from := 70 * rng.ExpFloat64()
			p := sim.Plain(sim.Judge(func(now float64) float64 {
				for now >= from+40 {
					from += 40 + 70*rng.ExpFloat64()
				}
				if now < from {
					return 0
				}
				return from + 40 - now
			}), ordinary)
			var state []byte
			sim.Play(p, sim.Owned(perSecond(sim.Ceiling), sim.Workers), 2*time.Hour, &state)
			share := p.Work(0, 2*time.Hour) / (sim.Ceiling * 7200 * 70 / 110)
			t.Logf("seed %d: %.0f %% of the work", seed, 100*share)
			sum += share
		})
	}
	if mean := sum / 4; mean < 0.4 {
		t.Errorf("%.0f %% of the work in the mean, want 40 %%", 100*mean)
	}
}

// TestBlocksOfThePaceAfterOthers: for half an hour the provider refuses everything for 40 s in every 110 s, whatever the pace is. From
// then on it shuts out who is too fast, for 40 s. The law gives up what it learned from the first blocks.
func TestBlocksOfThePaceAfterOthers(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{1, 2, 4, 8} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const others = 30 * 60.0
				const block, each = 40.0, 110.0
				bucket, out, shutOut := sim.Bucket(rate, 8), 0.0, 0
				p := sim.Plain(sim.Judge(func(now float64) float64 {
					if now < others {
						return max(0, block-math.Mod(now, each))
					}
					if now < out {
						return out - now
					}
					wait := sim.Taken(bucket, now)
					if wait > 0 {
						out = now + block
						shutOut++
					}
					return wait
				}), ordinary)
				var state []byte
				sim.Play(p, sim.Owned(perSecond(sim.Ceiling), sim.Workers), 90*time.Minute, &state)
				share := p.Work(time.Hour, 90*time.Minute) / (rate * 30 * 60)
				t.Logf("%v/s: %.0f %% of the work in the last half hour, shut out %d times", rate, 100*share, shutOut)
				if share < 0.7 || shutOut > 40 {
					t.Errorf("%v/s: %.0f %% of the work in the last half hour, shut out %d times; want 70 %% and at most 40", rate, 100*share, shutOut)
				}
			})
		})
	}
}

package sim_test

import (
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/law"
	"collect/pacing/sim"
)

// TestAwayNowAndThen: who refuses everything for a minute or two every ten minutes,
// whatever the pace is, does not slow it down for the rest of the time.
func TestAwayNowAndThen(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			p := family(t, "wikimedia").New(seed)
			var state []byte
			sim.Play(p, sim.Governed(law.Plateau), time.Hour, &state)
			got := p.Score(0, time.Hour)
			t.Logf("seed %d: %.1f %% of the work, %d refused", seed, 100*got.Share, got.Refusals)
			if got.Share < 0.7 {
				t.Errorf("seed %d: %.1f %% of the work, want 70 %% at least", seed, 100*got.Share)
			}
		})
	}
}

// TestPlacesAndPace: where requests in flight are counted and a bucket as well, the
// number in flight that was learned does not let the pace go.
func TestPlacesAndPace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			p := family(t, "both").New(seed)
			var state []byte
			sim.Play(p, sim.Governed(law.Plateau), time.Hour, &state)
			got := p.Score(0, time.Hour)
			t.Logf("seed %d: %.1f %% of the work, %d of %d refused", seed, 100*got.Share, got.Refusals, got.Requests)
			if got.Share < 0.75 || got.Refusals > 60 {
				t.Errorf("seed %d: %.1f %% of the work and %d refused, want 75 %% at least and 60 at most", seed, 100*got.Share, got.Refusals)
			}
		})
	}
}

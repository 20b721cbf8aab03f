package sim_test

import (
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

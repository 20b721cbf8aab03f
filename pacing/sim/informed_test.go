package sim_test

import (
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// TestInformed: the client that is told the limit meets it once, and uses all of
// it from then on, in the next run as well.
func TestInformed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds under the race detector")
	}
	for _, tc := range []struct {
		name string
		make func() *sim.Provider // of 5 a second
		most int                  // refusals: one, and those that look for the end of a block
	}{
		{"bucket", func() *sim.Provider { return sim.Routes(5) }, 6},
		{"window", func() *sim.Provider {
			p := sim.Routes(5)
			p.OneWindow(300, 60)
			return p
		}, 12},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := tc.make()
			var state []byte
			sim.Play(p, sim.Informed(), time.Hour, &state)
			refused, requests := p.Refused()
			if share := float64(requests-refused) / (5 * 3600); share < 0.95 || refused == 0 || refused > tc.most {
				t.Errorf("%s: %.0f %% of the work and %d refused, want 95 %% and 1 to %d", tc.name, 100*share, refused, tc.most)
			}
			sim.Play(p, sim.Informed(), time.Hour, &state)
			if again, _ := p.Refused(); again > refused+1 {
				t.Errorf("%s: %d more refused in the next run, want at most 1", tc.name, again-refused)
			}
		})
	}
}

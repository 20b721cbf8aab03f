package sim_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/law"
	"collect/pacing/sim"
)

// TestOutagesAreNotLearnedFrom: what has nothing to do with the pace costs what it lasts, and the pace is what
// it was when it is over: whatever fails, and also where nothing is declared, or a run lasts a minute. Each of
// these instances was once used at 1 to 45 %.
func TestOutagesAreNotLearnedFrom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, tc := range []struct {
		family           string
		seed             uint64
		undeclared, cron bool
		least            float64
	}{
		{"broken-silent", 811, false, false, 0.75},
		{"broken-silent", 814, true, false, 0.75},
		{"broken-502", 813, true, false, 0.75},
		{"broken-503", 5002, false, false, 0.85},
		{"broken-503", 6011, false, false, 0.85},
		{"broken-503", 7003, true, false, 0.85},
		{"broken-503", 7005, false, true, 0.6},
		{"broken-503", 7002, true, true, 0.8},
		{"broken-502", 7011, false, false, 0.75},
		{"blocked-429", 7001, false, false, 0.75},
		{"blocked-429", 7004, false, false, 0.75},
		{"blocked-429", 7006, false, false, 0.6},
		{"blocked-429", 7048, false, false, 0.75},
		{"net-silent", 900, false, false, 0.8},
		{"deploy-503", 661000, false, true, 0.6},
		{"outage-dead", 9027303, false, false, 0.8},
		{"dropping", 7105, false, false, 0.85},
		{"pausing", 241307745, true, true, 0.6},
	} {
		t.Run(fmt.Sprintf("%s, %d", tc.family, tc.seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := family(t, tc.family).New(tc.seed)
				c, long := sim.Governed(law.Plateau), max(time.Hour, p.Long)
				if tc.undeclared {
					c = sim.Owned(collection.Provider{}, 0)
				}
				var state []byte
				run := long
				if tc.cron {
					run = 55 * time.Second
				}
				for began := time.Now(); time.Since(began) < long; {
					now := time.Now()
					sim.Play(p, c, run, &state)
					time.Sleep(time.Until(now.Add(run + 5*time.Second)))
				}
				s := p.Score(0, long)
				t.Logf("%.1f %% of the work in %d requests", 100*s.Share, s.Requests)
				if s.Share < tc.least {
					t.Errorf("%.1f %% of the work in %d requests, want %.0f %%", 100*s.Share, s.Requests, 100*tc.least)
				}
			})
		})
	}
}

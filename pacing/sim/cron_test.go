package sim_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// TestRunsOfAMinute: a run of 55 s in every minute, as cron starts it, learns what one
// run of an hour does, though most of its runs end while everything is refused, or
// after too few answers for a count.
func TestRunsOfAMinute(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, tc := range []struct {
		family string
		seed   uint64
	}{{"airtable", 50501}, {"penalty", 50501}, {"interval", 50501}, {"after-minute", 50501}, {"scattered", 50501}, {"one-slow", 50500}} {
		t.Run(tc.family, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := family(t, tc.family).New(tc.seed)
				c := sim.Owned(perSecond(sim.Ceiling), sim.Workers)
				var state []byte
				for range 60 {
					sim.Play(p, c, 55*time.Second, &state)
					time.Sleep(5 * time.Second)
				}
				s := p.Score(0, time.Hour)
				t.Logf("%.0f %% of the work with %d refusals", 100*s.Share, s.Refusals)
				if s.Share < 0.65 || s.Refusals > 80 {
					t.Errorf("%.0f %% of the work with %d refusals, want 65 %% with 80", 100*s.Share, s.Refusals)
				}
			})
		})
	}
}

// TestSlowGatewayInRunsOfAMinute: a server of one thread behind a gateway that gives up, as
// above. What is in flight when a run ends was asked for in vain.
func TestSlowGatewayInRunsOfAMinute(t *testing.T) {
	t.Parallel()
	for _, seconds := range []float64{1, 2, 3} {
		t.Run(fmt.Sprint(seconds, " s each"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := sim.Gateway(1/seconds, 4*seconds)
				c := sim.Owned(collection.Provider{}, 0)
				var state []byte
				for range 60 {
					sim.Play(p, c, 55*time.Second, &state)
					time.Sleep(5 * time.Second)
				}
				s := p.Score(0, time.Hour)
				t.Logf("%.0f %% of the work, %d of %d requests answered 504", 100*s.Share, s.Refusals, s.Requests)
				if s.Share < 0.7 || s.Refusals > 80 {
					t.Errorf("%.0f %% of the work, %d of %d requests answered 504; want 70 %%, and 80", 100*s.Share, s.Refusals, s.Requests)
				}
			})
		})
	}
}

// TestOneRefusalInRunsOfSeconds: a lone refusal early on holds up none of the short runs
// after it.
func TestOneRefusalInRunsOfSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sim.Plain(nil, ordinary)
		p.Away(429, 4*time.Second, 5*time.Second)
		var state []byte
		for range 75 {
			sim.Play(p, sim.Owned(perSecond(50), sim.Workers), 3*time.Second, &state)
			time.Sleep(time.Second)
		}
		if refused, requests := p.Refused(); refused == 0 || requests < 8000 {
			t.Errorf("%d requests with %d refusals in 75 runs, want 8,000 and at least one", requests, refused)
		}
	})
}

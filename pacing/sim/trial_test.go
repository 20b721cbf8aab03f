package sim_test

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

func family(t *testing.T, name string) sim.Family {
	t.Helper()
	all := sim.Kinds()
	i := slices.IndexFunc(all, func(f sim.Family) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no family %q", name)
	}
	return all[i]
}

// The moments of a trial add up to its score, show the limit as it moves, and
// show a pace.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sim.Try(family(t, "step"), 1000, sim.Setup{Law: "plateau", Moments: 30})
		if len(got.Moments) != 30 {
			t.Fatalf("%d moments, want 30", len(got.Moments))
		}
		sent, refused := 0.0, 0
		for _, m := range got.Moments {
			sent += m.Sent * 120
			refused += m.Refused
			if m.Answered > m.Sent || m.Pace <= 0 {
				t.Errorf("at %v: %.2f/s answered of %.2f/s, pace %.2f/s", m.From, m.Answered, m.Sent, m.Pace)
			}
		}
		if int(math.Round(sent)) != got.Requests || refused != got.Refusals {
			t.Errorf("the moments have %.0f requests and %d refusals, the score %d and %d", sent, refused, got.Requests, got.Refusals)
		}
		first, last := got.Moments[0].Capacity, got.Moments[29].Capacity
		if math.Abs(last-first/4) > 1e-9 {
			t.Errorf("the limit goes from %.2f/s to %.2f/s, want a fall to a quarter", first, last)
		}
	})
}

// The ceilings of an owner hold in the trial, a short one and a long one.
func TestTrialKeepsCeilings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sim.Try(family(t, "ban-hidden"), 1000, sim.Setup{
			Law: "plateau", For: 30 * time.Minute, Moments: 30,
			Ceilings: []collection.Ceiling{{Count: 2, Per: time.Second}, {Count: 600, Per: 24 * time.Hour}},
		})
		for _, m := range got.Moments {
			if m.Sent > 2+1.0/60 {
				t.Errorf("at %v: %.2f/s, want 2/s at most", m.From, m.Sent)
			}
		}
		if got.Requests != 600 {
			t.Errorf("%d requests, want the 600 that the day allows", got.Requests)
		}
	})
}

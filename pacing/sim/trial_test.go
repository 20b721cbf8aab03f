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
	all := append(sim.Kinds(), sim.Jobs()...)
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
		sent, refused, begin := 0.0, 0, 0
		for _, m := range got.Moments {
			sent += m.Sent * 120
			refused += m.Refused
			if m.From < 5*time.Minute {
				begin += m.Refused
			}
			if m.Answered > m.Sent || m.Pace <= 0 {
				t.Errorf("at %v: %.2f/s answered of %.2f/s, pace %.2f/s", m.From, m.Answered, m.Sent, m.Pace)
			}
		}
		if int(math.Round(sent)) != got.Requests || refused != got.Refusals {
			t.Errorf("the moments have %.0f requests and %d refusals, the score %d and %d", sent, refused, got.Requests, got.Refusals)
		}
		if begin < got.Begin || got.Begin == 0 || got.Begin == got.Refusals {
			t.Errorf("%d are refused in the first five minutes, of %d in six and %d in all", got.Begin, begin, got.Refusals)
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
			Owner: &collection.Provider{Ceilings: []collection.Ceiling{{Count: 2, Per: time.Second}, {Count: 600, Per: 24 * time.Hour}}},
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

// A job is run as often as it says, keeps what it learned from one run to the
// next, and nothing goes wrong in it for no reason.
func TestTrialOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		job := sim.Schedule{Requests: 400, Every: 3 * time.Hour, Runs: 20}
		got := sim.Try(family(t, "bucket-after"), 1000, sim.Setup{Law: "plateau", Job: job})
		if len(got.Runs) != job.Runs || time.Since(begun).Truncate(time.Hour) != 60*time.Hour {
			t.Errorf("%d runs in %v, want %d in 60 h", len(got.Runs), time.Since(begun), job.Runs)
		}
		if got.Requests != job.Runs*job.Requests+got.Refusals {
			t.Errorf("%d requests, %d of them refused, for %d of each run", got.Requests, got.Refusals, job.Requests)
		}
		if got.Runs[0].Refusals == 0 || got.Runs[1].Refusals+got.Runs[2].Refusals > got.Runs[0].Refusals {
			t.Errorf("refused in each run: %+v, want most in the first", got.Runs[:3])
		}
		if took, ratio := sim.SlowestOf(got.Runs); took < got.Runs[2].Took || ratio < 0.5 || ratio > 3 {
			t.Errorf("the slowest took %v, %.2f of the second: %+v", took, ratio, got.Runs)
		}
	})
}

// After an outage the trial tells when the provider was asked again.
func TestTrialOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sim.Try(family(t, "outage-503"), 1000, sim.Setup{Law: "plateau", For: 2 * time.Hour})
		if got.Asked < 0 || got.Asked > 10*time.Minute {
			t.Errorf("asked again after %v", got.Asked)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if got := sim.Try(family(t, "bucket"), 1000, sim.Setup{Law: "plateau", For: time.Minute}); got.Asked >= 0 {
			t.Errorf("without an outage, asked again after %v", got.Asked)
		}
	})
}

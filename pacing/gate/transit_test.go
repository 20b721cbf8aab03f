package gate_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
)

// TestCeilingHoldsWhereRequestsArrive: requests leave as fast as the gate allows, and each takes up to 50 ms longer to
// arrive than another one. A provider that counts arrivals never counts more in any window than the ceiling declares, and
// the room for that costs 50 ms of each window.
func TestCeilingHoldsWhereRequestsArrive(t *testing.T) {
	for _, c := range []collection.Ceiling{{Count: 5, Per: time.Second}, {Count: 60, Per: time.Minute}} {
		for _, unpaced := range []bool{true, false} {
			rng := rand.New(rand.NewPCG(1, 1))
			g := open(t, collection.Provider{Unpaced: unpaced, Ceilings: []collection.Ceiling{c}})
			now, windows := t0, 40
			var arrivals []time.Time
			for range windows * c.Count {
				var stop *collection.Stop
				if now, stop = attempt(t, g, now, good); stop != nil {
					t.Fatalf("%d in %v, unpaced %t: %v", c.Count, c.Per, unpaced, stop)
				}
				arrivals = append(arrivals, now.Add(time.Duration(rng.Int64N(int64(ceiling.Transit)+1))))
			}
			slices.SortFunc(arrivals, time.Time.Compare)
			most, from := 0, 0
			for i, at := range arrivals {
				for at.Sub(arrivals[from]) >= c.Per {
					from++
				}
				most = max(most, i-from+1)
			}
			if most > c.Count || unpaced && most < c.Count {
				t.Errorf("%d in %v, unpaced %t: %d arrive in one window", c.Count, c.Per, unpaced, most)
			}
			if got, want := now.Sub(t0), time.Duration(windows-1)*(c.Per+ceiling.Transit); unpaced && got != want {
				t.Errorf("%d in %v: %d windows take %v, want %v", c.Count, c.Per, windows, got, want)
			}
		}
	}
}

// TestWindowAsLongAsTheLongestWait is waited for, also when all of it has just been used.
func TestWindowAsLongAsTheLongestWait(t *testing.T) {
	for per, waits := range map[time.Duration]bool{time.Minute: true, time.Minute + 1: false} { // the longest wait is a minute
		g := open(t, collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 1, Per: per}}})
		g.Settle(t0, g.Leave(&gate.Request{}, t0), &good)
		if plan := g.Plan(&gate.Request{}, t0); (plan.Stop == nil) != waits {
			t.Errorf("a window of %v: %+v, waits %t, want %t", per, plan, plan.Stop == nil, waits)
		}
	}
}

// TestRateThatIsNotWhole is one request in a time shorter than a second, so 50 ms would be a large part of it. It loses a
// twentieth at most, as a whole rate does.
func TestRateThatIsNotWhole(t *testing.T) {
	for _, rate := range []float64{0.5, 2.5, 33.3} {
		g, now := open(t, collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{collection.PerSecond(rate)}}), t0
		for range 101 {
			now, _ = attempt(t, g, now, good)
		}
		if got := 100 / now.Sub(t0).Seconds(); got > rate || got < rate/1.0501 {
			t.Errorf("of %v a second, requests leave at %v a second", rate, got)
		}
	}
}

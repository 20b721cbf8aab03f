package sim_test

import (
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// A request costs and is granted at once, or refused with a wait.
type request struct{ at, cost, wait float64 }

func TestLimiters(t *testing.T) {
	for _, tc := range []struct {
		name  string
		take  sim.Taker
		asked []request
	}{
		{"the last window counts by what is left of it", sim.Weighed(4, 10), []request{
			{8, 1, 0}, {9, 3, 0}, {9, 1, 1}, {10, 1, 2.5}, {12.5, 1, 0}, {12.5, 1, 2.5}, {15, 1, 0}, {15, 1, 2.5},
		}},
		{"and the one before that does not", sim.Weighed(4, 10), []request{{9, 4, 0}, {20, 4, 0}, {20, 1, 10}}},
		{"an interval", sim.Interval(2), []request{{0, 1, 0}, {2, 1, 0}, {4.5, 1, 0}, {6, 1, 0.5}}},
		{"begins anew with what is refused", sim.Interval(2), []request{{0, 1, 0}, {1, 1, 1}, {2, 1, 1}, {4, 1, 0}}},
		{"a refusal counts", sim.Unforgiving(2, 10), []request{{0, 1, 0}, {1, 1, 0}, {5, 1, 5}, {10.5, 1, 0.5}, {11.5, 1, 3.5}, {21.5, 1, 0}}},
		{"a debt is granted and paid back", sim.Debt(1, 3), []request{{0, 2, 0}, {0, 4, 0}, {1, 1, 2}, {2.9, 1, 0.1}, {3.1, 1, 0}, {10, 3, 0}, {10, 1, 0.001}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, r := range tc.asked {
				if got := tc.take(r.at, r.cost); math.Abs(got-r.wait) > 0.002 || (got > 0) != (r.wait > 0) {
					t.Errorf("%v at %v s: wait %.4f s, want %v", r.cost, r.at, got, r.wait)
				}
			}
		})
	}
}

// refusals asks evenly for an hour and returns which part was refused.
func refusals(p *sim.Provider, pace float64) float64 {
	refused, asked := 0.0, 0.0
	for at := 0.0; at < 3600; at += 1 / pace {
		asked++
		if p.Ask(p.Paths()[0], at, 1).Status != 200 {
			refused++
		}
	}
	return refused / asked
}

// Machines behind a balancer refuse below their limit, a little.
func TestNodes(t *testing.T) {
	f := family(t, "nodes")
	for seed := range uint64(5) {
		limit := f.New(seed).Capacity("/records", 0)
		if got := refusals(f.New(seed), 0.95*limit); got == 0 || got > 0.08 {
			t.Errorf("seed %d: at 0.95 of the limit %.4f are refused, want some", seed, got)
		}
		if got := refusals(f.New(seed), 0.3*limit); got > 0.001 {
			t.Errorf("seed %d: at 0.3 of the limit %.4f are refused, want none", seed, got)
		}
	}
}

// Of two limits, each is there without the other.
func TestBothLimits(t *testing.T) {
	f := family(t, "both")
	for seed := range uint64(5) {
		p, most := f.New(seed), 0
		for n := 1; n <= 20; n++ { // far enough apart for any rate
			if p.Ask("/records", float64(1000*n), n).Status == 200 {
				most = n
			}
		}
		if most < 2 || most > 10 {
			t.Errorf("seed %d: %d in flight are granted, want 2 to 10", seed, most)
		}
		if got := refusals(f.New(seed), 3*sim.Ceiling); got < 0.5 {
			t.Errorf("seed %d: with one in flight, %.2f are refused at any rate, want a limit to it", seed, got)
		}
	}
}

// What one route refuses, the other grants, and a client's workers want both.
func TestTwoRoutes(t *testing.T) {
	f := family(t, "two-routes")
	p := f.New(1000)
	for p.Ask("/details", 0, 1).Status == 200 {
	}
	if got := p.Ask("/records", 0, 1).Status; got != 200 {
		t.Errorf("when the details were used up, records are answered with %d", got)
	}
	quick, slow := p.Capacity("/records", 0), p.Capacity("/details", 0)
	if slow > quick/2 {
		t.Errorf("the limits are %.2f/s and %.2f/s, want one of less than half", quick, slow)
	}
	if got, want := p.CapacityOfAll(0), min(sim.Ceiling, quick+slow); got != want {
		t.Errorf("the best is %.2f/s of limits of %.2f/s and %.2f/s", got, quick, slow)
	}
	if asked := errands(t, f); asked["/records"] != asked["/details"] || len(asked) != 2 {
		t.Errorf("the workers first ask for %v, want both streams alike", asked)
	}
	if asked := errands(t, family(t, "bucket")); asked[""] != sim.Workers {
		t.Errorf("the workers of a provider with one route ask for the streams %v, want none", asked)
	}
}

// errands returns how many workers first ask for which stream.
func errands(t *testing.T, f sim.Family) map[string]int {
	asked := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		c := sim.Spy(func(r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			stream := collection.StreamOf(r.Context())
			if stream != "" && stream != r.URL.Path {
				t.Errorf("%s is asked for as stream %s", r.URL.Path, stream)
			}
			if total(asked) < sim.Workers {
				asked[stream]++
			}
		})
		var state []byte
		sim.Play(f.New(1000), c, time.Millisecond, &state)
	})
	return asked
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

package sim_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// TestQuickBeforeSlow: a list that is answered at once, before details that all
// take much longer, is no reason to take the details for a queue. The same work
// without the quick answers takes as long, or nearly.
func TestQuickBeforeSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	const records, ceiling = 600, 50
	job := func(t *testing.T, flying int, latency func(i int) float64) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var state []byte
			i := -1
			p := sim.Plain(nil, func(*rand.Rand) float64 { i++; return latency(i) })
			took = sim.Job(p, sim.Owned(perSecond(ceiling), flying), records, time.Hour, &state)
		})
		return took
	}
	for _, tc := range []struct {
		name        string
		quick, slow float64 // seconds
		first       int     // answers that are quick,
		every       int     // and each one after so many
		flying      int
		most        time.Duration // that they cost
	}{
		{"one", 0.001, 0.2, 1, 0, sim.Workers, 0},
		{"one, eight in flight", 0.001, 0.2, 1, 0, 8, 0},
		{"one of 20 ms", 0.02, 0.4, 1, 0, sim.Workers, 0},
		{"one, 0.6 s", 0.001, 0.6, 1, 0, sim.Workers, 0},
		{"one of 20 ms, 1.5 s", 0.02, 1.5, 1, 0, sim.Workers, 0},
		{"one in 50", 0.001, 0.2, 1, 50, sim.Workers, 0},
		{"one of 20 ms in 50", 0.02, 0.4, 1, 50, sim.Workers, 0},
		{"three", 0.001, 0.2, 3, 0, sim.Workers, 8 * time.Second},
		{"ten", 0.001, 0.2, 10, 0, sim.Workers, 8 * time.Second},
		{"ten, eight in flight", 0.001, 0.2, 10, 0, 8, 8 * time.Second},
		{"fifteen", 0.001, 0.2, 15, 0, sim.Workers, 10 * time.Second},
		{"a hundred", 0.001, 0.2, 100, 0, sim.Workers, 2 * time.Second},
		// At first, so slow may be a queue as well, which a slower pace would empty.
		{"ten of 20 ms", 0.02, 0.4, 10, 0, sim.Workers, 20 * time.Second},
		{"ten, 0.6 s", 0.001, 0.6, 10, 0, sim.Workers, 33 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := job(t, tc.flying, func(int) float64 { return tc.slow })
			got := job(t, tc.flying, func(i int) float64 {
				if i < tc.first || tc.every > 0 && i%tc.every == 0 {
					return tc.quick
				}
				return tc.slow
			})
			if got > want+tc.most+time.Second {
				t.Errorf("%d records take %v, and %v where no answer is quick: want at most %v more", records, got, want, tc.most)
			}
		})
	}
}

package law

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRecentLatencies compares their mean with the geometric mean, over
// values that repeat, and counts those above each.
func TestRecentLatencies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var r recentLatencies
	var all []float64
	for i := range 10_000 {
		if i%997 == 0 {
			r.clear()
			all = all[:0]
		}
		seconds := 0.01 * float64(1+rng.IntN(50))
		r.add(logOf(seconds))
		all = append(all, seconds)
		latest := all[max(0, len(all)-latencies):]
		product, above := 1.0, 0
		for _, s := range latest {
			product *= math.Pow(s, 1/float64(len(latest)))
			if s > 1.503*seconds {
				above++
			}
		}
		if got := r.typical().seconds(); math.Abs(got/product-1) > 0.07 {
			t.Fatalf("of %v it is %v, want %v", latest, got, product)
		}
		if got := r.above(1.503 * seconds); got != above {
			t.Fatalf("of %v, %d are above %v, want %d", latest, got, 1.503*seconds, above)
		}
	}
}

package law

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRunningMedian compares it with sorting, over values that repeat.
func TestRunningMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var m runningMedian
	var all []float64
	for i := range 10_000 {
		if i%997 == 0 {
			m.clear()
			all = all[:0]
		}
		v := float64(rng.IntN(50))
		m.add(v)
		all = append(all, v)
		want := slices.Sorted(slices.Values(all[max(0, len(all)-latencies):]))
		same := func(a float32, b float64) bool { return float64(a) == b }
		if m.n != len(want) || !slices.EqualFunc(m.sorted[:m.n], want, same) {
			t.Fatalf("after %v\n got %v\nwant %v", all[max(0, len(all)-latencies):], m.sorted[:m.n], want)
		}
		if len(want) > 1 && (m.median() != want[len(want)/2] || m.second() != want[len(want)-2]) {
			t.Fatalf("of %v the median is %v and the second %v", want, m.median(), m.second())
		}
	}
}

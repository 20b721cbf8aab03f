package law_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestWeightIsWaitedFor: after a request that costs as much as five, the wait
// is that of five. A weight that is none counts as 1, and none is so heavy
// that the wait for it overflows.
func TestWeightIsWaitedFor(t *testing.T) {
	for _, name := range law.Laws() {
		for _, tc := range []struct{ weight, want float64 }{
			{1, 1}, {5, 5}, {0.5, 0.5}, {0, 1}, {-3, 1}, {math.NaN(), 1}, {math.Inf(1), 1e6}, {math.Inf(-1), 1},
		} {
			l, err := law.New(name, 1, 1, rand.Float64)
			if err != nil {
				t.Fatal(err)
			}
			at, _ := l.Next(0)
			l.OnSend(at, 1) // the very first slot is not spread
			from, _ := l.Next(at)
			l.OnSend(from, tc.weight)
			next, _ := l.Next(from)
			if got := (next - from).Seconds(); math.Abs(got/tc.want-1) > 0.031 {
				t.Errorf("%s: after a request of weight %v the next leaves in %v s, want %v", name, tc.weight, got, tc.want)
			}
		}
	}
}

// TestPlateauCountsWork: a provider that grants eight points a second, and
// takes four for a request, is found at eight points and not at two requests.
func TestPlateauCountsWork(t *testing.T) {
	l := &limited{Learner: law.NewLearner(1, 40), now: t0, at: t0, rate: 8, burst: 8, weight: 4}
	l.run(time.Hour)
	answered, refused := l.run(time.Hour)
	if share := 4 * float64(answered) / (8 * 3600); share < 0.9 || refused > 15 {
		t.Errorf("in the second hour %.0f %% of the points were used and %d requests refused, want at least 90 %% and at most 15", 100*share, refused)
	}
	if got := l.Keep().Plateau.Limit; math.Abs(got/8-1) > 0.1 {
		t.Errorf("the limit is believed to be %v, want 8 points a second", got)
	}
}

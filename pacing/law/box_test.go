package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestPenaltyBoxIsNoWindow: a refusal that is followed by a block, however
// little was too much, tells little of the limit. So the law finds it all the
// same, is refused rarely, and waits little longer than the block.
func TestPenaltyBoxIsNoWindow(t *testing.T) {
	share, refusals, n := 0.0, 0, 0
	for _, rate := range []float64{1, 2, 4, 8} {
		for _, block := range []time.Duration{20 * time.Second, 35 * time.Second, 50 * time.Second} {
			l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: rate, burst: 10}
			var until time.Time
			l.forNothing = func() bool { return l.now.Before(until) }
			answered := 0
			for end := l.now.Add(time.Hour); l.now.Before(end); {
				ok, no := l.run(1) // one request
				if no > 0 && !l.now.Before(until) {
					until = l.now.Add(block)
				}
				answered, refusals = answered+ok, refusals+no
			}
			share += float64(answered) / (3600 * rate)
			n++
		}
	}
	if share /= float64(n); share < 0.83 || refusals > 280 {
		t.Errorf("over %d boxes, %.1f %% of an hour's limit was answered, and %d were refused; want 83 %% and at most 280: it is 79 %% if boxes are taken for windows, and 82 if their end is not looked for", n, 100*share, refusals)
	}
}

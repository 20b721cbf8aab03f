package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestLongBlockIsNoNews of the pace, if that was kept before: a quota is used
// up, or the provider is away. When it is over, the pace is what it was.
func TestLongBlockIsNoNews(t *testing.T) {
	for _, block := range []time.Duration{90 * time.Second, 8 * time.Minute, 12 * time.Minute} {
		l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 1}
		l.run(30 * time.Minute)
		before := l.Plateau()
		until := l.now.Add(block)
		l.forNothing = func() bool { return l.now.Before(until) }
		for l.now.Before(until) {
			l.run(time.Second)
		}
		l.run(time.Minute)
		if after := l.Plateau(); after < 0.9*before {
			t.Errorf("%v of refusals: the plateau was %.3f/s, and is %.3f/s", block, before, after)
		}
		if answered, _ := l.run(10 * time.Minute); answered < 510 {
			t.Errorf("%v of refusals: of the limit of 600 in the ten minutes that followed, %d were used", block, answered)
		}
	}
}

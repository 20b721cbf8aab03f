package law_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"collect/pacing/law"
)

// TestRefusalsForNothing: one request in 300 is refused whatever the pace is.
// That is found out, so that the plateau does not sink with each of them. What
// is refused after ten answers, again and again, is no chance.
func TestRefusalsForNothing(t *testing.T) {
	const rate, ceiling = 12, 20
	for seed := range uint64(8) {
		chance := rand.New(rand.NewPCG(seed, 0))
		l := &limited{Learner: law.NewLearner(1, ceiling), now: t0, at: t0, rate: rate, burst: 20,
			forNothing: func() bool { return chance.IntN(300) == 0 }}
		l.run(20 * time.Minute)
		answered, refused := l.run(40 * time.Minute)
		if share := float64(answered) / (40 * 60 * rate); share < 0.6 || refused > answered/100 {
			t.Errorf("seed %d: %.0f %% of the limit was used, and %d of %d were refused, want at least 60 %% and at most one in 100",
				seed, 100*share, refused, answered+refused)
		}
		l.rate = 3 // and now there is a limit
		l.run(5 * time.Minute)
		answered, refused = l.run(20 * time.Minute)
		if refused > answered/50 {
			t.Errorf("seed %d: under a new limit %d of %d were refused, want at most one in 50", seed, refused, answered+refused)
		}
	}
}

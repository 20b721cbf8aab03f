package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestLimitComesAndGoes: for 20 seconds of 80 somebody else uses half of the
// limit. What is there in the other 60 is used, though the pace is that of the
// 20 when they begin; and refusals stay rare.
func TestLimitComesAndGoes(t *testing.T) {
	const rate, ceiling = 12, 20
	l := &limited{Learner: law.NewLearner(1, ceiling), now: t0, at: t0, burst: 15}
	cycles := func(n int) (answered, refused int) {
		for range n {
			for _, phase := range []struct {
				rate float64
				d    time.Duration
			}{{rate / 2, 20 * time.Second}, {rate, time.Minute}} {
				l.rate = phase.rate
				a, r := l.run(phase.d)
				answered, refused = answered+a, refused+r
			}
		}
		return answered, refused
	}
	cycles(15)
	answered, refused := cycles(30)
	if share := float64(answered) / (30 * (rate*60 + rate/2*20)); share < 0.75 || refused > answered/150 {
		t.Errorf("%.0f %% of the limit was used, and %d of %d were refused, want at least 75 %% and at most one in 150",
			100*share, refused, answered+refused)
	}
}

// TestCreditIsNoTide: a bucket that fills while a low pace is kept gives more
// for a while than it does in all. It is not taken for a limit that comes and
// goes, which would be refused again and again.
func TestCreditIsNoTide(t *testing.T) {
	for _, burst := range []float64{5, 20, 50, 200} {
		l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 5, burst: burst}
		l.run(20 * time.Minute)
		answered, refused := l.run(2 * time.Hour)
		if refused > answered/400 {
			t.Errorf("a bucket of %v: %d of %d were refused, want at most one in 400", burst, refused, answered+refused)
		}
	}
}

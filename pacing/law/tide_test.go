package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestLimitComesAndGoes: at times somebody else uses half of the limit. What is
// there at the others is used, though the pace is that of the worse when they
// begin; and refusals stay rare. Where the probes are never high enough to hint
// at it, nothing is won, so that the mean counts.
func TestLimitComesAndGoes(t *testing.T) {
	const cycles, before = 30, 15
	used, worlds := 0.0, 0
	for _, rate := range []float64{6, 9, 12, 15} {
		for _, busy := range []time.Duration{20 * time.Second, 35 * time.Second} {
			for _, free := range []time.Duration{time.Minute, 100 * time.Second} {
				l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, burst: 5 + rate}
				answered, refused := 0, 0
				for i := range before + cycles {
					l.rate = rate / 2
					a, r := l.run(busy)
					l.rate = rate
					b, s := l.run(free)
					if i >= before {
						answered, refused = answered+a+b, refused+r+s
					}
				}
				share := float64(answered) / (cycles * rate * (busy/2 + free).Seconds())
				used, worlds = used+share, worlds+1
				t.Logf("half of %v/s for %v of %v: %.0f %% was used, and %d of %d refused", rate, busy, busy+free, 100*share, refused, answered+refused)
				if refused > answered/100 {
					t.Errorf("half of %v/s for %v of %v: %d of %d were refused, want at most one in 100", rate, busy, busy+free, refused, answered+refused)
				}
			}
		}
	}
	if used /= float64(worlds); used < 0.72 {
		t.Errorf("%.0f %% of the limit was used, want at least 72 %%", 100*used)
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

// TestCreditOfASlowLimitIsNoTide either: what a probe holds there for half a
// minute may be a handful of requests that a bucket had kept. To look for them
// again in surges is refused more often than all probes are.
func TestCreditOfASlowLimitIsNoTide(t *testing.T) {
	const most = 16 // in two hours, on average
	refusals, worlds := 0, 0
	for _, rate := range []float64{0.25, 0.4, 0.6, 0.9} {
		for _, burst := range []float64{5, 10, 20} {
			l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: rate, burst: burst}
			l.run(5 * time.Minute)
			_, refused := l.run(2 * time.Hour)
			refusals, worlds = refusals+refused, worlds+1
		}
	}
	if refusals > most*worlds {
		t.Errorf("%d were refused in %d worlds, want at most %d", refusals, worlds, most*worlds)
	}
}

// TestConfirmedPlateauIsTriedAgain: three refusals for nothing, one soon after the
// other, lower a plateau that was confirmed, and it is back as soon as it is
// tried.
func TestConfirmedPlateauIsTriedAgain(t *testing.T) {
	l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 8}
	l.run(9*time.Minute + 30*time.Second) // a probe has just been refused
	before := l.Plateau()
	for range 3 {
		refuse := true
		l.forNothing = func() bool { was := refuse; refuse = false; return was }
		l.run(10 * time.Second)
	}
	lowered := l.Plateau()
	if lowered > 0.9*before {
		t.Fatalf("refused for nothing three times, the plateau is %v/s, want it well below %v/s", lowered, before)
	}
	if l.run(time.Minute); l.Plateau() < 0.95*before {
		t.Errorf("a minute after the plateau was lowered from %v/s to %v/s it is %v/s, want what it was", before, lowered, l.Plateau())
	}
}

// TestLowerLimitIsNotTriedAgain: where a confirmed limit is cut to a quarter, or
// falls so little that many answers come between two refusals, it is not looked
// for where it was, which would be refused a few times more.
func TestLowerLimitIsNotTriedAgain(t *testing.T) {
	for _, w := range []struct{ rate, burst, left float64 }{{8, 2, 0.25}, {8, 20, 0.25}, {4, 10, 0.85}, {12, 20, 0.85}} {
		l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: w.rate, burst: w.burst}
		l.run(31 * time.Minute)
		l.rate *= w.left
		_, refused := l.run(10 * time.Minute)
		if refused > 10 || l.Rate() > 1.2*l.rate {
			t.Errorf("a bucket of %v, in the ten minutes after its rate fell from %v/s to %v/s: %d were refused, and the pace is %v/s, want at most 10 and nearly the rate",
				w.burst, w.rate, l.rate, refused, l.Rate())
		}
	}
}

// TestHighPlateauIsNotKept: what somebody else leaves at times is kept for the
// next run if it was counted, and not if it was only held.
func TestHighPlateauIsNotKept(t *testing.T) {
	const rate = 12
	l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, burst: 17}
	used := false
	for range 45 {
		l.rate = rate / 2
		l.run(20 * time.Second)
		l.rate = rate
		for range 10 {
			l.run(10 * time.Second)
			low, kept := l.Low(), l.Keep().Plateau
			if used = used || low > 0; low > 0 && kept.Target > max(low, 0.98*kept.Limit) {
				t.Fatalf("with %v/s in use over %v/s, and %v/s counted, %v/s is kept", l.Plateau(), low, kept.Limit, kept.Target)
			}
		}
	}
	if !used {
		t.Fatal("the high plateau is not used")
	}
}

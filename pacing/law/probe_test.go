package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestConfirmedLimitIsProbedRarely also where ten minutes are few requests: each
// probe is refused there.
func TestConfirmedLimitIsProbedRarely(t *testing.T) {
	refusals := 0
	for _, rate := range []float64{0.25, 0.5, 1} {
		l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: rate}
		l.run(2 * time.Hour)
		answered, refused := l.run(3 * time.Hour)
		if share := float64(answered) / (3 * 3600 * rate); share < 0.95 {
			t.Errorf("%v/s: %.1f %% of it was used in three hours, want 95 %%", rate, 100*share)
		}
		refusals += refused
	}
	if refusals > 36 {
		t.Errorf("%d were refused in nine hours, want at most four an hour", refusals)
	}
}

// TestQuickLimitIsProbedRarely, too: once in thousands of answers.
func TestQuickLimitIsProbedRarely(t *testing.T) {
	for _, rate := range []float64{4, 8, 16} {
		l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: rate}
		l.run(2 * time.Hour)
		if answered, refused := l.run(2 * time.Hour); refused > answered/3000 {
			t.Errorf("%v/s: %d of %d were refused, want at most one in 3000", rate, refused, answered+refused)
		}
	}
}

// TestLimitThatFellIsLookedFor: two refusals in a row that nothing but a lower
// limit explains end what was agreed on, so that the plateau below them is not
// kept for as long as one that was confirmed.
func TestLimitThatFellIsLookedFor(t *testing.T) {
	for _, rate := range []float64{0.6, 0.8, 1.2, 2} {
		for _, burst := range []float64{2, 5, 10, 20} {
			l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: rate, burst: burst}
			l.run(time.Hour)
			l.rate /= 4
			answered, refused := l.run(25 * time.Minute)
			if share := float64(answered) / (1500 * l.rate); share < 0.92 || refused > 18 {
				t.Errorf("a bucket of %v at %v/s, then a quarter: %.0f %% of the work in 25 minutes and %d refused, want 92 %% and at most 18", burst, rate, 100*share, refused)
			}
		}
	}
}

// TestStartIsQuick: where nothing objects, the pace doubles with every eight
// answers, or every two seconds if that is longer.
func TestStartIsQuick(t *testing.T) {
	if got := grants(law.NewLearner(1, 1000), 96, time.Minute); got > 20*time.Second {
		t.Errorf("from one a second to 96 takes %v, want at most 20 s", got)
	}
}

// TestStartWaitsForAnswers: where an answer takes eight seconds, a start that doubles
// every two is told of what it did when it is sixteen times as fast.
func TestStartWaitsForAnswers(t *testing.T) {
	refused := 0
	w := world{start: 1, ceiling: 100, workers: 400, lasts: 5 * time.Minute, answer: func(p *provider) (law.Outcome, time.Duration) {
		ok := p.bucket(10, 10)
		if !ok {
			refused++
		}
		return granted(ok), 8 * s
	}}
	w.play(t, law.Plateau)
	t.Logf("%d refused", refused)
	if refused > 120 {
		t.Errorf("%d requests are refused in five minutes, want 120 at most", refused)
	}
}

// TestCountBeginsWithTheFirstRequest: a route is asked for as a run begins, and its stream comes minutes later. What is
// granted until the first refusal is counted from there.
func TestCountBeginsWithTheFirstRequest(t *testing.T) {
	const limit = 100.0 / 60
	p := &provider{tokens: 25}
	r := begin(t, p, law.Memory{}, time.Hour)
	r.answer = func(p *provider) (law.Outcome, time.Duration) { return granted(p.bucket(limit, 25)), 50 * ms }
	r.law.Next(r.now)
	r.now += 5 * time.Minute
	p.filled = r.now
	r.until(r.now + time.Minute)
	if got := r.until(r.now + time.Minute); got < 80 || r.refused == 0 {
		t.Errorf("%d requests in the second minute, %d refused in both; want 80 of 100, and some", got, r.refused)
	}
}

// TestATrialGoesOnInTheNextRun: a run that ends while more than the plateau is tried keeps that, and the next one
// is there again within a minute.
func TestATrialGoesOnInTheNextRun(t *testing.T) {
	trials := 0
	l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 4}
	for range 60 {
		l.run(30 * time.Second)
		m := l.Keep()
		if m.Trial() == 0 {
			continue
		}
		trials++
		next := &limited{Learner: law.NewLearner(1, 20), now: l.now, at: l.now, rate: 100}
		next.Restore(m, time.Minute)
		next.run(time.Minute)
		if m.Trial() <= m.PerSecond() || next.Rate() < m.Trial() {
			t.Errorf("a trial of %.2f/s above %.2f/s: the next run is at %.2f/s after a minute", m.Trial(), m.PerSecond(), next.Rate())
		}
	}
	if trials == 0 {
		t.Error("nothing was tried")
	}
}

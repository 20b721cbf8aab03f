package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// failsAt lets n requests leave at their pace, of which share fails at once, by chance that is spread evenly. It returns
// how many failed, and for how many the bound was above most.
func (w *watched) failsAt(n int, most float64, share func(bound float64) float64) (failed, above int) {
	sum := 0.0
	for range n {
		sent := w.send()
		if w.Bound() > most {
			above++
		}
		w.now = w.now.Add(10 * ms)
		if sum += share(w.Bound()); sum < 1 {
			w.Result(sent, law.Result{Signal: law.Succeeded}, w.now)
			continue
		}
		sum--
		failed++
		w.Result(sent, law.Result{Signal: law.Failed}, w.now)
	}
	return failed, above
}

// TestTrustIsEarnedBesideFailures: one of several servers that is broken fails its share at any pace, which keeps no
// bound from being earned.
func TestTrustIsEarnedBesideFailures(t *testing.T) {
	for _, share := range []float64{0.02, 0.08, 0.125, 0.3} {
		w := &watched{law.NewLearner(1, 0), t0}
		w.failsAt(3000, 0, func(float64) float64 { return share })
		if got := w.Bound(); got != 32 {
			t.Errorf("where %.3f fail, %v/s are earned, want 32", share, got)
		}
	}
}

// TestMoreFailuresTakeTrustBack: where a third fails above 8 a second and next to nothing below, that is tried more
// and more rarely, also by runs of a minute.
func TestMoreFailuresTakeTrustBack(t *testing.T) {
	w := &watched{law.NewLearner(1, 0), t0}
	const sent, runs = 600, 60
	failed, above := 0, 0
	for range runs {
		f, a := w.failsAt(sent, 8, func(bound float64) float64 {
			if bound > 8 {
				return 0.3
			}
			return 0.002
		})
		failed, above = failed+f, above+a
		m := w.Keep()
		w = &watched{law.NewLearner(1, 0), w.now.Add(time.Minute)}
		w.Restore(m, time.Minute)
	}
	t.Logf("%d of %d failed, %d left above 8/s", failed, sent*runs, above)
	if above == 0 || above > sent*runs/5 {
		t.Errorf("%d of %d requests left above 8/s, want some, and a fifth at most", above, sent*runs)
	}
}

// TestTrustIsEarnedBetweenOutages: a provider that answers nothing but a bare 503 for 20 s of every 75 s bears 20 a second.
// A bound that is earned on the way back after an outage is used like one that is earned at the pace itself.
func TestTrustIsEarnedBetweenOutages(t *testing.T) {
	r := begin(t, &provider{}, law.Memory{}, time.Hour)
	r.answer = func(p *provider) (law.Outcome, time.Duration) {
		if p.now%(75*s) >= 55*s {
			return law.Outcome{Signal: law.Throttled, Weak: true, Hold: -1}, 50 * ms
		}
		return granted(p.bucket(20, 20)), 50 * ms
	}
	if got := r.until(r.now + 30*time.Minute); got < 12_000 {
		t.Errorf("%d answered in 30 minutes at %.1f/s of the bound %.0f/s, want 12000 of 26,400", got, r.law.Rate(), r.law.Most())
	}
}

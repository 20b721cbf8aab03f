package law_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"collect/pacing/law"
)

// A spender is a provider that counts in windows of a few seconds, and announces
// them with a reset in whole seconds, rounded up.
type spender struct {
	limit    float64
	length   time.Duration
	anchored bool          // a window begins with its first request, and not on the clock
	jitter   time.Duration // that a request may be longer on its way

	begun, ends law.Moment
	used        float64
}

// spend judges a request that arrives at now.
func (w *spender) spend(now law.Moment, chance *rand.Rand) law.Outcome {
	now = max(w.begun, now+time.Duration(chance.Int64N(1+int64(w.jitter))))
	o := granted(w.take(now))
	reset := max(0, w.ends-now+s-1).Truncate(time.Second)
	o = announced(o, w.limit, w.limit-w.used, reset, 0)
	if o.Windows[0].Remaining == 0 {
		o.Hold = reset
	}
	return o
}

func (w *spender) take(now law.Moment) bool {
	if now >= w.ends {
		w.used, w.begun = 0, now
		if !w.anchored {
			w.begun = now.Truncate(w.length)
		}
		w.ends = w.begun + w.length
	}
	if w.used >= w.limit {
		return false
	}
	w.used++
	return true
}

// play returns the work of ten minutes, as a share of what was there, and the
// refusals.
func (w spender) play(t *testing.T, latency time.Duration) (share float64, refused int) {
	chance := rand.New(rand.NewPCG(1, 2))
	l, err := law.New(law.Plateau, 1, 20, func() float64 { return 0.5 })
	if err != nil {
		t.Fatal(err)
	}
	world := world{workers: 32, answer: func(p *provider) (law.Outcome, time.Duration) {
		return w.spend(p.now, chance), latency
	}}
	const begin, lasts = time.Hour + 300*ms, 10 * time.Minute
	r := &run{T: t, world: world, law: l, provider: &provider{}, now: begin}
	for r.now < begin+lasts {
		r.step()
	}
	return float64(r.answered) / (w.limit * lasts.Seconds() / w.length.Seconds()), r.refused
}

// TestShortWindows: a window of a few seconds that is announced is used up, and
// never refuses, however many whole seconds its reset is rounded to.
func TestShortWindows(t *testing.T) {
	for _, length := range []time.Duration{1 * s, 2 * s, 5 * s, 10 * s} {
		for _, limit := range []float64{1, 2, 3, 5, 10, 20} {
			for _, w := range []spender{{}, {anchored: true}, {jitter: 40 * ms}} {
				w.limit, w.length = limit, length
				for _, latency := range []time.Duration{50 * ms, 400 * ms} {
					share, refused := w.play(t, latency)
					if share < 0.94 || refused > 0 {
						t.Errorf("%v in %v, answered after %v (anchored %t, jitter %v): %.1f %% of the work, %d refused",
							limit, length, latency, w.anchored, w.jitter, 100*share, refused)
					}
				}
			}
		}
	}
}

// TestSilenceOfAWindow: what remains is 0 is no reason for silence where our own
// requests tell when there is more, and a reason where anything speaks against it.
func TestSilenceOfAWindow(t *testing.T) {
	const told, failed, refused = 2 * s, -1, -2
	used := law.Result{Signal: law.Succeeded, Limit: 4, Remaining: 0, Reset: told, Hold: told}
	for _, tc := range []struct {
		name  string
		left  []float64 // what remains after each answer before it
		last  law.Result
		quiet bool // is it kept
	}{
		{"all of it is ours", []float64{3, 2, 1, 0, 3, 2, 1}, used, false},
		{"the first was somebody else's", []float64{3, 2, 1, 0, 2, 1}, used, true},
		{"one between two was", []float64{3, 2, 1, 0, 3, 1}, used, true},
		{"one of a minute ago was", append([]float64{3, 1, 0}, rounds(4, 12)...), used, true},
		{"one of two minutes ago was", append([]float64{3, 1, 0}, rounds(4, 80)...), used, false},
		{"some were not counted", []float64{3, failed, 2, failed, 1}, used, false},
		{"we have not seen a whole window", []float64{3}, used, true},
		{"a longer one is used up", []float64{3, 2, 1, 0, 3, 2, 1}, law.Result{Signal: law.Succeeded, Limit: 4, Remaining: 0, Reset: told, Hold: 3 * s}, true},
		{"it turns out to be a minute", []float64{3, 2, 1, 0, 3, 2, 1}, law.Result{Signal: law.Succeeded, Limit: 4, Remaining: 0, Reset: time.Minute, Hold: time.Minute}, true},
		{"it was refused before", []float64{3, 2, 1, 0, refused, 3, 2, 1}, used, true},
		{"it was refused minutes ago", append([]float64{3, 2, 1, 0, refused}, rounds(4, 100)...), used, true},
		{"another one is used up", []float64{3, 2, 1, 0, 3, 2, 1}, law.Result{Signal: law.Succeeded, Name: "all", Limit: 99, Remaining: 0, Reset: told, Hold: told}, true},
		{"the account has nothing left", []float64{3, 2, 1, 0, 3, 2, 1}, law.Result{Signal: law.Silent, Limit: 4, Remaining: 0, Reset: told, Hold: told}, true},
		{"it is asked for", []float64{3, 2, 1, 0, 3, 2, 1}, law.Result{Signal: law.Throttled, Limit: 4, Remaining: 0, Reset: told, Hold: told}, true},
	} {
		l, now := law.NewLearner(1, 20), t0
		answer := func(r law.Result) time.Duration {
			at, _ := l.Next(now)
			now = later(now, at)
			sent := l.Send(now)
			now = now.Add(10 * ms)
			return l.Result(sent, r, now)
		}
		for _, left := range tc.left {
			r := law.Result{Signal: law.Succeeded, Limit: 4, Remaining: left, Reset: told}
			switch left {
			case failed:
				r = law.Result{Signal: law.Failed}
			case refused:
				r = law.Result{Signal: law.Throttled}
			}
			answer(r)
		}
		got := answer(tc.last)
		if want := map[bool]time.Duration{true: tc.last.Hold, false: -1}[tc.quiet]; got != want {
			t.Errorf("%s: it is silent for %v, want %v", tc.name, got, want)
		}
	}
}

// rounds returns what remains after each request of n windows.
func rounds(limit float64, n int) []float64 {
	var left []float64
	for range n {
		for i := limit - 1; i >= 0; i-- {
			left = append(left, i)
		}
	}
	return left[:len(left)-1]
}

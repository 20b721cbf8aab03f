package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestOneCountAgainstSeveral: what several episodes confirmed is not given up for
// one that found less, and is looked for again soon; a limit that stays lower
// is found out.
func TestOneCountAgainstSeveral(t *testing.T) {
	l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 4}
	l.run(3 * time.Hour)
	known := l.Keep().Plateau.Limit
	l.rate /= 2
	for refused := 0; refused == 0; {
		_, refused = l.run(time.Second)
	}
	l.run(10 * time.Second)
	l.rate *= 2
	if got := l.Keep().Plateau.Limit; got < 0.9*known {
		t.Errorf("half of it for some seconds: the limit was %.2f/s, and is %.2f/s", known, got)
	}
	if answered, refused := l.run(20 * time.Minute); answered < 4300 || refused > 6 {
		t.Errorf("then, of the limit of 4800 in twenty minutes, %d were used, and %d refused; want at least 4300 and at most 6", answered, refused)
	}
	l.rate /= 2
	l.run(10 * time.Minute)
	if got := l.Keep().Plateau.Limit; got > 0.6*known {
		t.Errorf("half of it for ten minutes: the limit was %.2f/s, and is %.2f/s", known, got)
	}
}

// TestRestIsNeverCutShort by a refusal: probes that hang are not waited for, so
// that several can be under way, and what was learned between the end of one and
// of the next may be that this episode is over soon.
func TestRestIsNeverCutShort(t *testing.T) {
	l, now := law.NewLearner(1, 1), t0
	send := func() law.Sent {
		at, _ := l.Next(now)
		now = later(now, at)
		return l.Send(now)
	}
	l.Result(send(), law.Result{Signal: law.Throttled}, now)
	l.Result(send(), law.Result{Signal: law.Succeeded}, now) // after two seconds
	l.Result(send(), law.Result{Signal: law.Throttled}, now)
	first, second, third := send(), send(), send()
	l.Result(first, law.Result{Signal: law.Throttled}, now)
	l.Result(second, law.Result{Refused: true}, now)
	due := l.Due()
	if l.Result(third, law.Result{Signal: law.Throttled}, now); l.Due().Before(due) {
		t.Errorf("a refusal moved the next request from %v to %v", due.Sub(now), l.Due().Sub(now))
	}
}

// TestLone503DelaysNoProbe: a bare 503 now and then changes nothing, and so not
// when the next probe is due either. A limit that rose is found.
func TestLone503DelaysNoProbe(t *testing.T) {
	l := &limited{Learner: law.NewLearner(1, 20), now: t0, at: t0, rate: 1}
	play := func(minutes int) {
		for range minutes / 3 {
			l.run(3 * time.Minute)
			at, _ := l.Next(l.now)
			l.now = later(l.now, at)
			l.Result(l.Send(l.now), law.Result{Signal: law.Throttled, Weak: true}, l.now)
		}
	}
	play(60)
	before := l.Plateau()
	l.rate *= 4
	if play(30); l.Plateau() < 2*before {
		t.Errorf("half an hour after the limit became four times as high, the plateau is %.2f/s; it was %.2f", l.Plateau(), before)
	}
}

// TestFirstSilence: the first refusal of all asks to wait for a minute and a half. If the provider allows more than the pace, the
// pace stays. If it counts in windows of two minutes, the second such refusal says so.
func TestFirstSilence(t *testing.T) {
	const wait = 90 * time.Second
	for _, tc := range []struct {
		name     string
		window   bool
		work     int // at least, in the 20 minutes after it
		refusals int // at most
	}{
		{"a silence at a bucket of 10 a second", false, 9600, 12},
		{"windows of 300 in two minutes", true, 2700, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := begin(t, &provider{tokens: 10}, law.Memory{}, time.Hour)
			n := 0
			r.answer = func(p *provider) (law.Outcome, time.Duration) {
				n++
				ok, hold := p.bucket(10, 10), time.Duration(-1)
				if tc.window {
					ok, _, hold = p.fixed(300, 2*time.Minute)
				} else if n == 300 {
					ok, hold = false, wait
				}
				o := granted(ok)
				if !ok {
					o.Hold = hold
				}
				return o, 50 * ms
			}
			for r.refused == 0 {
				r.step()
			}
			if got := r.until(r.now + 20*time.Minute); got < tc.work || r.refused > tc.refusals {
				t.Errorf("%d answers in 20 minutes, and %d refused; want %d, and %d", got, r.refused, tc.work, tc.refusals)
			}
		})
	}
}

// TestBlocksOfNoLimit: a provider refuses everything for a minute and a half in every five, whatever the pace is. A few of
// these blocks lower the pace, and then it comes back and stays, also over runs of nine minutes.
func TestBlocksOfNoLimit(t *testing.T) {
	// A bare 503 counts against the bound that is earned as well.
	for kind, least := range map[string]int{"429": 18_000, "429 with Retry-After": 18_000, "503": 10_000} {
		for _, long := range []time.Duration{time.Hour, 9 * time.Minute} {
			var r *run
			var m law.Memory
			answered := 0
			for begins := time.Hour; begins < 2*time.Hour; begins += long {
				r = begin(t, &provider{}, m, begins)
				r.workers, r.answer = 8, func(p *provider) (law.Outcome, time.Duration) {
					o := granted(true)
					if left := 5*time.Minute - p.now%(5*time.Minute); left < 90*s {
						o = granted(false)
						switch kind {
						case "503":
							o.Weak = true
						case "429 with Retry-After":
							o.Hold = left
						}
					}
					return o, 100 * ms
				}
				r.until(min(begins+long, 100*time.Minute))
				answered += r.until(begins + long)
				m = r.law.Keep()
			}
			if answered < least {
				t.Errorf("%s, runs of %v: %d answered after the first 40 minutes, at %.1f/s; want %d of 26,880", kind, long, answered, r.law.Rate(), least)
			}
		}
	}
}

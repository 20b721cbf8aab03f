package law_test

import (
	"encoding/json"
	"testing"
	"time"

	"collect/pacing/law"
)

// refusing asks a provider that refuses everything, without a word, for a
// time, and returns what is remembered, when it asked, and when it would next.
func refusing(t *testing.T, m law.Memory, age, lasts time.Duration) (kept law.Memory, asked []time.Duration, next time.Duration) {
	l := law.NewLearner(1, 0)
	l.Restore(m, age)
	now := t0
	for {
		at, _ := l.Next(now)
		if at = later(now, at); at.Sub(t0) > lasts {
			next = at.Sub(t0)
			break
		}
		now = at
		asked = append(asked, now.Sub(t0))
		l.Result(l.Send(now), law.Result{Signal: law.Throttled}, now)
	}
	state, err := json.Marshal(l.Keep())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(state, &kept); err != nil {
		t.Fatal(err)
	}
	return kept, asked, next
}

// TestBackoffOutlivesTheRun: a run that ends while everything is refused hands
// its back-off on. The next ones wait for its end, ask once, and wait for longer.
func TestBackoffOutlivesTheRun(t *testing.T) {
	const lasts, gap = 45 * time.Second, 15 * time.Second
	m, asked, next := refusing(t, law.Memory{}, 0, lasts)
	if len(asked) < 4 {
		t.Fatalf("the first run asked at %v", asked)
	}
	age := gap + lasts - asked[len(asked)-1]
	all := 0
	for i := range 20 {
		var again []time.Duration
		due := next - lasts - gap
		m, again, next = refusing(t, m, age, lasts)
		if all += len(again); len(again) > 2 || len(again) > 0 && again[0] < due-time.Millisecond {
			t.Errorf("run %d asked at %v, want once or twice, and not before %v", i+2, again, due)
		}
		if len(again) > 0 {
			age = lasts - again[len(again)-1]
		} else {
			age += lasts
		}
		age += gap
	}
	if all < 4 || all > 8 {
		t.Errorf("20 runs in 20 minutes asked %d times, want 4 to 8", all)
	}
}

// TestBackoffEndsWithAnAnswer: the first answer after a pause ends the back-off,
// and what was known before is known again, however long nobody asked.
func TestBackoffEndsWithAnAnswer(t *testing.T) {
	for _, age := range []time.Duration{time.Minute, time.Hour, 23 * time.Hour} {
		m, _, _ := refusing(t, remembered(t, `"target_per_second": 3, "earned_per_second": 4, "spoke": true`), time.Minute, 45*time.Second)
		l, now := law.NewLearner(1, 0), t0
		l.Restore(m, age)
		at, _ := l.Next(now)
		if wait := at.Sub(now); wait > time.Minute {
			t.Errorf("after %v it waits for %v", age, wait)
		}
		now = later(now, at)
		sent := l.Send(now)
		if at, _ := l.Next(now); at.Sub(now) < time.Second {
			t.Errorf("after %v a second request leaves %v after the first one", age, at.Sub(now))
		}
		l.Result(sent, law.Result{Signal: law.Succeeded}, now.Add(50*ms))
		took := grants(l, 100, 15*time.Second)
		if got := l.Rate(); got < 2.9 {
			t.Errorf("after %v, and %v of answers, the pace is %v, want about 3", age, took, got)
		}
		if next := l.Keep(); next.Backoff(0) > 0 {
			t.Errorf("after %v: it still keeps %v", age, next.Backoff(0))
		}
	}
}

// TestBackoffOfNoUse: a kept one that no law made waits for no longer than a law
// would.
func TestBackoffOfNoUse(t *testing.T) {
	for _, backoff := range []string{
		`{"for_ns": -5, "pause_ns": 3600000000000000, "refused": 9999, "from_per_second": 1}`,
		`{"for_ns": 9000000000000000000, "pause_ns": 9000000000000000000, "refused": -1, "from_per_second": -1}`,
	} {
		l := law.NewLearner(1, 0)
		l.Restore(remembered(t, `"target_per_second": 3, "backoff": `+backoff), 0)
		if at, _ := l.Next(t0); at.Sub(t0) > 70*time.Minute {
			t.Errorf("%s: it waits for %v", backoff, at.Sub(t0))
		}
	}
}

// TestToldToLast: a run ends because it is told to wait for longer than it may, again and
// again. The next one knows how long that was, counts it as part of a window, and does not
// look for more as if a refusal were cheap.
func TestToldToLast(t *testing.T) {
	for _, tc := range []struct {
		name     string
		grants   func(p *provider, shut *law.Moment) bool
		least    int // answers in eight hours, at runs of ten minutes, 18 s apart
		refusals int
	}{
		{"50 in ten seconds, or shut out for five minutes", func(p *provider, shut *law.Moment) bool {
			if p.now >= *shut && p.sliding(50, 10*s) {
				return true
			}
			if p.now >= *shut {
				*shut = p.now + 5*time.Minute
			}
			return false
		}, 110_000, 8},
		{"600 in five minutes", func(p *provider, shut *law.Moment) bool {
			ok, _, left := p.fixed(600, 5*time.Minute)
			*shut = p.now + left
			return ok
		}, 55_000, 25},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const begins, ends = time.Hour + 20*s, 9 * time.Hour
			var m law.Memory
			var age time.Duration
			var shut law.Moment
			p := &provider{}
			answered, refused := 0, 0
			for now := begins; now < ends; {
				l, err := law.New(law.Plateau, 1, 0, func() float64 { return 0.5 })
				if err != nil {
					t.Fatal(err)
				}
				l.Restore(m, age)
				r := &run{T: t, world: world{workers: 4, answer: func(p *provider) (law.Outcome, time.Duration) {
					o := granted(tc.grants(p, &shut))
					if o.Signal == law.Throttled {
						o.Hold = shut - p.now
					}
					return o, 50 * ms
				}}, law: l, provider: p, now: now}
				for r.refused == 0 && r.now < now+10*time.Minute {
					r.step()
				}
				m, answered, refused = l.Keep(), answered+r.answered, refused+r.refused
				now = r.now + 18*s
				if r.refused > 0 {
					now = max(now, shut+18*s)
				}
				age = now - r.now
			}
			if answered < tc.least || refused > tc.refusals {
				t.Errorf("%d answered and %d refused, want %d and %d", answered, refused, tc.least, tc.refusals)
			}
		})
	}
}

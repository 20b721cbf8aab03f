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

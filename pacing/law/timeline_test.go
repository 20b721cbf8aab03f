package law_test

import (
	"testing"
	"time"

	"collect/pacing/law"
)

// TestClockThatJumps: when the clock is set back, the wait that has begun goes
// on and is not longer by the hours that come again; when it is set forward,
// or the machine has slept, the idle time earns nothing. Times without a
// monotonic reading are what a law sees of a clock that others share.
func TestClockThatJumps(t *testing.T) {
	for _, name := range law.Laws() {
		for _, jump := range []time.Duration{-24 * time.Hour, -time.Hour, -2 * time.Second, -ms, 0, ms, time.Hour, 365 * 24 * time.Hour} {
			l, err := law.New(name, 1, 4)
			if err != nil {
				t.Fatal(err)
			}
			now := t0
			for range 20 {
				at, _ := l.Next(now)
				now = later(now, at)
				l.OnResult(l.OnSend(now, 1), law.Outcome{Signal: law.Succeeded, Hold: -1}, now)
			}
			slot := time.Duration(1.04 / l.Rate() * float64(time.Second))
			now = now.Add(jump)
			sent := 0
			for end := now.Add(10 * slot); now.Before(end); {
				at, _ := l.Next(now)
				if wait := at.Sub(now); wait > slot+2*time.Second {
					t.Fatalf("%s: after a jump of %v the wait is %v, want at most %v", name, jump, wait, slot)
				}
				if now = later(now, at); now.Before(end) {
					l.OnSend(now, 1)
					sent++
				}
			}
			if sent > 12 || sent < 4 {
				t.Errorf("%s: after a jump of %v %d requests left in 10 intervals, want no burst and no standstill", name, jump, sent)
			}
		}
	}
}

package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
)

// TestClockThatJumps: when the clock is set back, the wait that has begun goes
// on and is not longer by the hours that come again; when it is set forward,
// or the machine has slept, the idle time earns nothing. Times without a
// monotonic reading are what a gate sees of a clock that others share.
func TestClockThatJumps(t *testing.T) {
	for _, name := range law.Laws() {
		for _, jump := range []time.Duration{-24 * time.Hour, -time.Hour, -2 * time.Second, -ms, 0, ms, time.Hour, 365 * 24 * time.Hour} {
			g, err := gate.New(collection.Provider{}, name, time.Hour, 1)
			if err != nil {
				t.Fatal(err)
			}
			now := t0
			for range 20 {
				now = due(g, now)
				g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Succeeded, Hold: -1})
			}
			slot := time.Duration(1.04 / g.Rate() * float64(time.Second))
			now = now.Add(jump)
			sent := 0
			for end := now.Add(10 * slot); now.Before(end); {
				next := due(g, now)
				if wait := next.Sub(now); wait > slot+2*time.Second {
					t.Fatalf("%s: after a jump of %v the wait is %v, want at most %v", name, jump, wait, slot)
				}
				if now = next; now.Before(end) {
					g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Silent, Hold: -1})
					sent++
				}
			}
			if sent > 12 || sent < 4 {
				t.Errorf("%s: after a jump of %v %d requests left in 10 intervals, want no burst and no standstill", name, jump, sent)
			}
		}
	}
}

// TestSetBackByMoreThanASecond: less is two callers that overtook each other,
// for whom no time has stood still.
func TestSetBackByMoreThanASecond(t *testing.T) {
	const free = 20*time.Second + ceiling.Transit
	for back, over := range map[time.Duration]time.Duration{0: free, time.Second: free, time.Second + 1: free - time.Second - 1} {
		g := open(t, collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 1, Per: 10 * time.Second}}})
		g.Plan(&gate.Request{}, t0)
		now := t0.Add(10 * time.Second)
		g.Settle(now, g.Leave(&gate.Request{}, now), &good)
		if got := g.Plan(&gate.Request{}, now.Add(-back)).Until.Sub(t0); got != over {
			t.Errorf("set back by %v the ten seconds are over after %v, want %v", back, got, over)
		}
	}
}

// due returns when the next request may leave.
func due(g *gate.Gate, now time.Time) time.Time {
	if p := g.Plan(&gate.Request{}, now); !p.Ready {
		return p.Until
	}
	return now
}

package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
)

// TestBudgetAcrossRuns: a run that begins in the last minutes of a budget's
// window is as fast as one at its beginning. Answers tell only when the window
// ends; its length was found by a run before.
func TestBudgetAcrossRuns(t *testing.T) {
	p := collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}
	var state []byte
	now := t0
	run := func(ends time.Time) (took time.Duration) {
		g, err := gate.New(p, "", time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Restore(state, now); err != nil {
			t.Fatal(err)
		}
		began, remaining := now, 4900.0
		for range 200 {
			remaining--
			now, _ = attempt(t, g, now, leftOf(remaining, 5000, ends.Sub(now)))
		}
		g.SettleUp()
		state = g.Snapshot(now)
		return now.Sub(began)
	}
	window := t0.Add(time.Hour)
	run(window)
	first := run(window)
	for i, left := range []time.Duration{14 * time.Minute, 5 * time.Minute} { // each run hands it on
		window = window.Add(time.Hour)
		now = window.Add(-left)
		if took := run(window); took > first*11/10 {
			t.Errorf("run %d, %v before the end of its window, takes %v; with a window that has begun it is %v", i, left, took, first)
		}
	}
}

package gate_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// TestClockJumpsAreNoBurst lets the clock jump either way, within a process as
// the sleep of a laptop does and between processes as a person does. After no
// jump leaves more than one request at once, and no ceiling is exceeded as the
// clock shows it.
func TestClockJumpsAreNoBurst(t *testing.T) {
	var checks, jumps, back, sentAll int
	rapid.Check(t, func(t *rapid.T) {
		checks++
		p := collection.Provider{StartPerSecond: 4, Ceilings: []collection.Ceiling{{Count: 4, Per: time.Second}, {Count: 200, Per: time.Hour}},
			Routes: map[string]collection.Route{"found": {Name: "search"}}}
		name := rapid.SampledFrom(law.Laws()).Draw(t, "law")
		now := t0
		var elapsed, last time.Duration // as it really does
		last = -time.Hour
		open := func(state []byte) *gate.Gate {
			g, err := gate.New(p, name, time.Hour, 50)
			if err == nil {
				err = g.Restore(state, now)
			}
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		g := open(nil)
		for range rapid.IntRange(50, 250).Draw(t, "steps") {
			switch rapid.IntRange(0, 19).Draw(t, "what") {
			case 0: // the machine slept
				slept := time.Duration(rapid.IntRange(1, 2000).Draw(t, "hours slept")) * time.Hour
				now, elapsed = now.Add(slept), elapsed+slept
				jumps++
			case 1: // killed, and the clock was set before the next start
				state := g.Snapshot(now)
				hours := rapid.IntRange(-2000, 2000).Draw(t, "hours set")
				now = now.Add(time.Duration(hours) * time.Hour)
				if hours < 0 {
					back++
				}
				jumps++
				g = open(state)
			default:
				pause := time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * ms
				now, elapsed = now.Add(pause), elapsed+pause
			}
			sent := 0
			for _, stream := range []string{"issues", "found", "issues"} {
				r := gate.Request{Stream: stream}
				if g.Plan(&r, now).Ready {
					g.Settle(now, g.Leave(&r, now), &good)
					sent++
				}
			}
			if sent > 1 {
				t.Fatalf("%d requests left at once", sent)
			}
			if sent == 1 {
				if gap := elapsed - last; gap < 240*ms {
					t.Fatalf("a request left %v after the one before it", gap)
				}
				last = elapsed
				sentAll++
			}
		}
	})
	if min(jumps, back) < checks || sentAll < 4*checks {
		t.Errorf("in %d checks %d jumps, %d back, %d requests", checks, jumps, back, sentAll)
	}
}

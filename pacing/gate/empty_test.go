package gate_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/pacing/response"
)

// nothingOf is a good answer that says that nothing is left of a limit.
func nothingOf(limit float64, window, reset time.Duration) gate.Outcome {
	return gate.Outcome{Signal: law.Succeeded, Hold: reset, Windows: []response.Quota{
		{Name: "limit", Limit: limit, Window: window, Reset: reset},
	}}
}

// TestNothingLeft: a provider that says after each request that nothing is left,
// also after the first one of a window, is not believed for ever, whatever
// process asks. One that may be right is.
func TestNothingLeft(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answer  gate.Outcome
		each    int // requests of a run
		doubted bool
	}{
		{"a window of seconds", nothingOf(100, 0, 5*time.Second), 50, true},
		{"a window of minutes", nothingOf(100, 10*time.Minute, 10*time.Minute), 50, true},
		{"a budget", nothingOf(5000, 0, time.Hour), 50, true},
		{"a budget, run by run", nothingOf(5000, 0, time.Hour), 1, true},
		{"no limit at all", nothingOf(-1, 0, time.Minute), 50, true},
		{"a limit of none", nothingOf(0, 0, time.Minute), 50, true},
		{"one in a minute", nothingOf(1, time.Minute, time.Minute), 50, false},
		{"one at a time, nobody says of how long", nothingOf(1, 0, time.Minute), 50, false},
		{"each place of a bucket that is empty", nothingOf(20, 10*time.Minute, 30*time.Second), 50, false},
		{"each place of one, rounded up", nothingOf(100, time.Minute, time.Second), 50, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, share := range []float64{0, 0.1} {
				p := collection.Provider{Unpaced: true, Reserve: share}
				var g *gate.Gate
				var state []byte
				var waits int
				now := t0
				for i := range 50 {
					if i%tc.each == 0 {
						var err error
						if g, err = gate.New(p, "", 2*time.Hour, 1); err != nil {
							t.Fatal(err)
						}
						if err := g.Restore(state, now); err != nil {
							t.Fatal(err)
						}
					}
					was := now
					now, _ = attempt(t, g, now, tc.answer)
					state = g.Snapshot(now)
					if now.Sub(was) >= tc.answer.Hold {
						waits++
					}
				}
				if want := map[bool]int{true: 3, false: 49}[tc.doubted]; waits != want {
					t.Errorf("with a share of %v: %d of 50 requests waited for the end of the window, want %d", share, waits, want)
				}
			}
		})
	}
}

// TestNothingLeftIsBelievedAgain: after an answer that says that something is
// left, and where a request that did not wait is refused.
func TestNothingLeftIsBelievedAgain(t *testing.T) {
	nothing := nothingOf(100, 0, time.Minute)
	refused := gate.Outcome{Signal: law.Throttled, Hold: time.Minute}
	for _, tc := range []struct {
		name     string
		unwaited int // answers to requests that did not wait
		then     gate.Outcome
		believed bool
	}{
		{"something is left", 20, leftOf(99, 100, time.Minute), true},
		{"refused at once", 0, refused, true},
		{"refused after many answers", 20, refused, false},
		{"nothing is said", 20, good, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, now := open(t, collection.Provider{Unpaced: true}), t0
			for range 4 + tc.unwaited {
				now, _ = attempt(t, g, now, nothing)
			}
			now, _ = attempt(t, g, now, tc.then)
			now, _ = attempt(t, g, now, nothing)
			was := now
			now, _ = attempt(t, g, now, nothing)
			if got := now.Sub(was) >= time.Minute; got != tc.believed {
				t.Errorf("the next one leaves after %v", now.Sub(was))
			}
		})
	}
}

package pacing_test

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/law"
)

// TestRampOnTheWire sees the same ramp from the provider's side: the first
// request leaves at once, and each answer shortens the wait for the next.
func TestRampOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(ok)
		g, start := govern(t, pacing.Config{Base: m, Law: law.AIMD}), time.Now()
		for range 30 {
			mustFetch(t, g)
		}
		got := m.gaps(start)
		if want := []time.Duration{0, 900 * ms, 818 * ms, 750 * ms, 692 * ms}; !slices.Equal(got[:5], want) {
			t.Errorf("first gaps %v, want %v", got[:5], want)
		}
		if got[27] != 250*ms || got[29] != 250*ms {
			t.Errorf("gaps after 27 successes: %v, want the floor of 250ms", got[27:])
		}
	})
}

// TestWarmStart restores what an earlier process learned.
func TestWarmStart(t *testing.T) {
	for _, tc := range []struct {
		name string
		age  time.Duration
		want time.Duration // the interval of the later process
	}{
		{"fresh", time.Minute, 500 * ms},
		{"just fresh", 6 * time.Hour, 500 * ms},
		{"stale", 6*time.Hour + ms, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d disk
				first := govern(t, pacing.Config{Base: serve(ok), Save: d.save, Law: law.AIMD})
				for range 9 { // 1/s + 9/9
					mustFetch(t, first)
				}
				if err := first.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tc.age)
				second := govern(t, pacing.Config{Base: serve(ok), Restore: d.state, Law: law.AIMD})
				if got := law.PerSecond(tc.want); math.Abs(second.Status().PerSecond-got) > 0.01*got {
					t.Errorf("begins at %v/s, want %v/s", second.Status().PerSecond, got)
				}
			})
		})
	}
}

// TestWarmStartKeepsTheCeiling: the owner lowered the ceiling in between.
func TestWarmStartKeepsTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		first := govern(t, pacing.Config{Base: serve(ok), Save: d.save})
		for range 40 {
			mustFetch(t, first)
		}
		first.Flush(t.Context())
		m := serve(ok)
		second := govern(t, pacing.Config{Base: m, Restore: d.state, Provider: collection.Provider{
			Ceilings: []collection.Ceiling{{Count: 2, Per: time.Second}},
		}})
		start := time.Now()
		for range 5 {
			mustFetch(t, second)
		}
		gaps := m.gaps(start)
		for i := range gaps[1:] {
			if span := gaps[i] + gaps[i+1]; span < time.Second {
				t.Errorf("three requests, from the one before gap %d, are %v apart, want at least 1s", i, span)
			}
		}
	})
}

// TestThrottledPaceDoesNotPoisonTheNextRun: one bad evening is forgotten. A run within
// two hours still begins below what was refused twice.
func TestThrottledPaceDoesNotPoisonTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		first := govern(t, pacing.Config{Base: serve(statuses(200, 429, 200, 429, 200)), Save: d.save})
		for range 3 {
			mustFetch(t, first)
		}
		if got := first.Status().PerSecond; got >= 1 {
			t.Fatalf("after two episodes the pace is %v/s, want less than 1", got)
		}
		first.Flush(t.Context())
		time.Sleep(3 * time.Hour)
		second := govern(t, pacing.Config{Base: serve(ok), Restore: d.state})
		if got, want := second.Status().PerSecond, 1.0; got != want {
			t.Errorf("the next run starts at %v/s, want %v", got, want)
		}
	})
}

package gate_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// TestFailureIsKept: what opened the breaker is known to later processes, with
// the probes that failed since, until it closes. A state that an older version
// saved says nothing about it, and can be read.
func TestFailureIsKept(t *testing.T) {
	g, now := unpacedGate(t), gate.Epoch
	try := func(signal law.Signal, why string) {
		now = now.Add(time.Hour) // past whatever it waits for
		g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: signal, Hold: -1, Why: why})
	}
	for range 4 {
		try(law.Failed, "answered 500")
	}
	if got := g.Status(now).Failure; got != (gate.Failure{}) {
		t.Errorf("a closed breaker has the failure %+v, want none", got)
	}
	try(law.Failed, "timed out")
	want := gate.Failure{At: now, Why: "timed out", Bad: 5, Of: 5}
	if got := g.Status(now).Failure; got != want {
		t.Errorf("it was opened by %+v, want %+v", got, want)
	}
	try(law.Failed, "no connection: connection refused")
	want = gate.Failure{At: now, Why: "no connection: connection refused", Bad: 5, Of: 5, Probes: 1}
	state := g.Snapshot(now)
	for moved, at := range map[time.Duration]time.Time{time.Minute: want.At, -time.Hour: want.At.Add(-time.Hour)} {
		got, err := gate.Inspect(state, now.Add(moved))
		if want.At = at; err != nil || got.Failure != want {
			t.Errorf("inspected %v later: %+v, %v, want %+v", moved, got.Failure, err, want)
		}
	}
	later := unpacedGate(t)
	if err := later.Restore(state, now); err != nil {
		t.Fatal(err)
	}
	if got, want := later.Plan(&gate.Request{Deadline: now.Add(time.Second)}, now).Stop.Detail,
		"5 of the last 5 requests failed, and so did a probe; the latest at 2026-11-21 16:00 UTC: no connection: connection refused"; got != want {
		t.Errorf("a later run is told %q, want %q", got, want)
	}
	try(law.Succeeded, "")
	if got := g.Status(now).Failure; got != (gate.Failure{}) {
		t.Errorf("closed again it has the failure %+v, want none", got)
	}

	old, err := gate.Inspect([]byte(`{"version":1,"recorded_at":"2026-11-21T10:00:00Z","breaker":{"until":"2026-11-21T10:01:00Z","trips":1}}`), gate.Epoch)
	if err != nil || old.Breaker != gate.Open || old.Failure != (gate.Failure{}) {
		t.Errorf("an older state reads %+v, %v, want an open breaker that nothing is known of", old, err)
	}
}

// TestFailureInWords says how many probes failed since, if any did.
func TestFailureInWords(t *testing.T) {
	const state = `{"version":1,"recorded_at":"2026-11-21T10:00:00Z",
		"breaker":{"until":"2026-11-21T10:01:00Z","trips":1,"failure":{"at":"2026-11-21T09:59:00Z","bad":6,"of":9,"probes":%d}}}`
	for probes, want := range []string{
		"6 of the last 9 requests failed; the latest at 2026-11-21 09:59 UTC",
		"6 of the last 9 requests failed, and so did a probe; the latest at 2026-11-21 09:59 UTC",
		"6 of the last 9 requests failed, and so did 2 probes; the latest at 2026-11-21 09:59 UTC",
	} {
		g := resume(t, collection.Provider{}, fmt.Appendf(nil, state, probes), t0)
		if stop := g.Refuse(&gate.Request{Deadline: t0}, t0); stop == nil || stop.Detail != want {
			t.Errorf("%d probes failed: %+v, want %q", probes, stop, want)
		}
	}
}

// TestTripsGoOn: the next process opens the breaker for as long as this one
// would have, whatever number was saved.
func TestTripsGoOn(t *testing.T) {
	for trips, lasts := range map[int]time.Duration{math.MinInt: 20 * time.Second, 0: 20 * time.Second, 1: 20 * time.Second, 2: 40 * time.Second, 60: 90 * time.Second, math.MaxInt: 90 * time.Second} {
		g := resume(t, collection.Provider{Unpaced: true},
			fmt.Appendf(nil, `{"version":1,"recorded_at":"2026-11-21T10:00:00Z","breaker":{"until":"2026-11-21T10:00:00Z","trips":%d}}`, trips), t0)
		now := t0
		for i := range 3 {
			g.Settle(now, g.Leave(&gate.Request{}, now), &failing)
			if got, want := g.OpenUntil().Sub(now), min(90*time.Second, lasts<<i); got != want {
				t.Errorf("after %d trips and %d probes that failed it is open for %v, want %v", trips, i+1, got, want)
			}
			now = g.OpenUntil()
		}
	}
}

// TestRetriesThatSucceedCount as answers do: what fails at first and works
// when it is sent again opens no breaker.
func TestRetriesThatSucceedCount(t *testing.T) {
	g := unpacedGate(t)
	for range 10 {
		for i, o := range []gate.Outcome{failing, failing, good, good} {
			p := g.Leave(&gate.Request{Retry: i > 0}, t0)
			if g.Settle(t0, p, &o); !g.Closed() {
				t.Fatal("one in three of what counts failed, and the breaker is open")
			}
		}
	}
}

func unpacedGate(t *testing.T) *gate.Gate {
	t.Helper()
	g, err := gate.New(collection.Provider{Unpaced: true}, "", time.Minute, 0)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

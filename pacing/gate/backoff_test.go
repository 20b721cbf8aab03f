package gate_test

import (
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// TestBackoffGoesOn: a process that ends, or is killed, while everything is refused
// hands its back-off on. The next one waits for the rest of it, says why, and says
// so to people who look at the state.
func TestBackoffGoesOn(t *testing.T) {
	p, now := collection.Provider{}, t0
	g := open(t, p)
	refused := gate.Outcome{Signal: law.Throttled, Hold: -1}
	var state []byte
	for range 7 {
		plan := g.Plan(&gate.Request{}, now)
		if !plan.Ready {
			now = plan.Until
		}
		if _, save := g.Settle(now, g.Leave(&gate.Request{}, now), &refused); save {
			state = g.Snapshot(now) // all that a killed process leaves
		}
	}
	due := g.Plan(&gate.Request{}, now).Until
	if wait := due.Sub(now); wait < 20*time.Second {
		t.Fatalf("after 7 refusals it waits for %v", wait)
	}
	now = now.Add(time.Second)
	for name, g := range map[string]*gate.Gate{"it": g, "the next one": resume(t, p, state, now)} {
		plan := g.Plan(&gate.Request{}, now)
		if diff := plan.Until.Sub(due).Abs(); plan.Stop != nil || plan.Ready || diff > time.Millisecond {
			t.Errorf("%s: %+v, want a wait until %v", name, plan, due)
		}
		stop := g.Plan(&gate.Request{Deadline: now.Add(10 * time.Second)}, now).Stop
		if stop == nil || stop.Reason != collection.WallClock || stop.NotBefore.Sub(due).Abs() > time.Millisecond ||
			!strings.HasPrefix(stop.Detail, "the provider refused every request for ") {
			t.Errorf("%s, with a deadline before that: %+v, want a stop until %v that says why", name, stop, due)
		}
	}
	seen, err := gate.Inspect(state, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]gate.Status{"it": g.Status(now), "its state": seen} {
		if k := s.Limit(); k == nil || k.Name != gate.Learned || !k.Blocks || k.Until.Sub(due).Abs() > time.Millisecond {
			t.Errorf("%s says that the limit is %+v, want %s until %v", name, k, gate.Learned, due)
		}
	}
	next := resume(t, p, state, due)
	if plan := next.Plan(&gate.Request{}, due); plan.Stop != nil || plan.Until.Sub(due) > 2*time.Second {
		t.Errorf("at its end: %+v, want a request", plan)
	}
}

// TestRefusalsInARowAreSeen: who looks at what a process saved six seconds into a trouble sees that no request
// succeeds, and not the pace of before.
func TestRefusalsInARowAreSeen(t *testing.T) {
	g, now := open(t, collection.Provider{}), t0
	var state, before []byte // the latest refusal
	n := 0
	step := func(o gate.Outcome) {
		for plan := g.Plan(&gate.Request{}, now); !plan.Ready; plan = g.Plan(&gate.Request{}, now) {
			now = plan.Until
		}
		pass := g.Leave(&gate.Request{}, now)
		now = now.Add(20 * time.Millisecond)
		if _, save := g.Settle(now, pass, &o); save || o.Signal == law.Succeeded { // what came is saved with its slice
			state = g.Snapshot(now)
		}
	}
	for range 300 {
		step(good)
	}
	began := now
	for now.Sub(began) < 5*time.Second {
		before = state
		step(gate.Outcome{Signal: law.Throttled, Hold: -1})
		n++
	}
	if n < 4 || now.Sub(began) > 12*time.Second {
		t.Fatalf("%d refusals in %v, want some", n, now.Sub(began))
	}
	s, err := gate.Inspect(before, now)
	if err != nil {
		t.Fatal(err)
	}
	if k := s.Limit(); k == nil || k.Name != gate.Learned || !k.Blocks {
		t.Errorf("before refusal %d, after %v, the saved state says that the limit is %+v, want refusals that block", n, now.Sub(began), k)
	}
}

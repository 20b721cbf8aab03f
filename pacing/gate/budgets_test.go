package gate_test

import (
	"errors"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
)

const day = 24 * time.Hour

// allowing is a provider with a ceiling of 10 a second and 100 a day.
var allowing = collection.Provider{Name: "acme", StartPerSecond: 10, Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}, {Count: 100, Per: day}}}

// lower orders a budget of the state of g, and returns the order.
func lower(t *testing.T, state []byte, now time.Time, l gate.Lowered) []byte {
	t.Helper()
	order, events, err := gate.LowerCeiling(state, now, l)
	if err != nil || len(events) != 1 || events[0].Kind != collection.BudgetOrdered {
		t.Fatalf("LowerCeiling: %+v, %v", events, err)
	}
	return order
}

// busiest returns how many requests leave in the fullest second of ten, from now on.
func busiest(t *testing.T, g *gate.Gate, now time.Time) (most int, end time.Time) {
	t.Helper()
	var left []time.Time
	for end = now; end.Sub(now) < 10*time.Second; {
		at, stop := attempt(t, g, end, good)
		if stop != nil {
			return most, end
		}
		end = at
		left = append(left, at)
		n := 0
		for _, l := range left {
			if at.Sub(l) < time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	return most, end
}

// TestLoweredCeiling: no more leaves than an operator allows, in a gate that is at work and
// in the next process, until its time is up; then all that is declared.
func TestLoweredCeiling(t *testing.T) {
	g := resume(t, allowing, nil, t0)
	order := lower(t, g.Snapshot(t0), t0, gate.Lowered{Per: time.Second, Count: 5.5, Until: t0.Add(time.Hour), Note: "their sale"})
	if err := g.Obey(order, t0); err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*gate.Gate{"at work": g, "the next": resume(t, allowing, order, t0)} {
		now := t0.Add(time.Minute)
		if got, _ := busiest(t, g, now); got > 6 || got < 5 {
			t.Errorf("%s: %d requests in a second, of 5.5", name, got)
		}
		if s := g.Status(now.Add(time.Minute)); s.Ceiling == nil || *s.Ceiling != 5.5 {
			t.Errorf("%s: the ceiling is said to be %v", name, s.Ceiling)
		}
		state := g.Snapshot(now.Add(time.Minute))
		if s, err := gate.Inspect(state, t0.Add(2*time.Minute)); err != nil || lowered(s, time.Second) == nil || lowered(s, time.Second).Note != "their sale" {
			t.Errorf("%s: its saved state does not say what is ordered: %v", name, err)
		}
		later := t0.Add(time.Hour)
		if s, _ := gate.Inspect(state, later); lowered(s, time.Second) != nil {
			t.Errorf("%s: its saved state says at its end what was ordered", name)
		}
		if s := g.Status(later); *s.Ceiling != 10 || lowered(s, time.Second) != nil {
			t.Errorf("%s: at its end the ceiling is %v", name, *s.Ceiling)
		}
	}
}

func lowered(s gate.Status, per time.Duration) *gate.Lowered {
	for _, c := range s.Constraints {
		if c.Name == gate.CeilingOf && c.Window == per {
			return c.Lowered
		}
	}
	return nil
}

// TestLoweredBudgetCountsWhatLeft: what has left in the window counts before and after an order, and
// an order never allows more than is declared.
func TestLoweredBudgetCountsWhatLeft(t *testing.T) {
	g := resume(t, allowing, nil, t0)
	now := t0
	send := func(want int) {
		t.Helper()
		n := 0
		for ; ; n++ {
			at, stop := attempt(t, g, now, good)
			if stop != nil {
				break
			}
			now = at
		}
		if n != want {
			t.Errorf("%d requests left, want %d", n, want)
		}
	}
	obey := func(order []byte) {
		t.Helper()
		if err := g.Obey(order, now); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		now, _ = attempt(t, g, now, good)
	}
	obey(lower(t, g.Snapshot(now), now, gate.Lowered{Per: day, Count: 60}))
	send(40)
	lifted, events, err := gate.LiftCeiling(g.Snapshot(now), now, day)
	if err != nil || len(events) != 1 || events[0].Ceiling.Count != nil {
		t.Fatalf("LiftCeiling: %+v, %v", events, err)
	}
	obey(lifted)
	send(40)
	obey(lower(t, g.Snapshot(now), now, gate.Lowered{Per: day, Count: 1000}))
	send(0)
}

// TestLoweredByTwo: who did not see that another lowered a budget does not raise it.
func TestLoweredByTwo(t *testing.T) {
	g := resume(t, allowing, nil, t0)
	seen := g.Snapshot(t0)
	first := lower(t, seen, t0, gate.Lowered{Per: day, Count: 50})
	looser := lower(t, seen, t0.Add(time.Second), gate.Lowered{Per: day, Count: 80})
	stricter := lower(t, seen, t0.Add(time.Second), gate.Lowered{Per: day, Count: 40})
	if err := g.Obey(first, t0); err != nil {
		t.Fatal(err)
	}
	if err := g.Obey(looser, t0); !errors.Is(err, gate.ErrStale) {
		t.Errorf("the looser order: %v, want ErrStale", err)
	}
	if err := g.Obey(stricter, t0); err != nil {
		t.Errorf("the stricter order: %v", err)
	}
	if l := lowered(g.Status(t0), day); l == nil || l.Count != 40 {
		t.Errorf("in force: %+v, want 40", l)
	}
	if l := lowered(g.Status(t0), time.Second); l != nil {
		t.Errorf("the other ceiling is lowered, too: %+v", l)
	}
}

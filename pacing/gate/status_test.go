package gate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// binding names what binds.
func binding(s gate.Status) gate.Bound {
	var names []string
	for _, c := range s.Constraints {
		if c.Binds {
			names = append(names, string(c.Name))
		}
	}
	return gate.Bound(strings.Join(names, " "))
}

// TestOneConstraintBinds: the longest block, or the lowest rate.
func TestOneConstraintBinds(t *testing.T) {
	minute := collection.Provider{StartPerSecond: 4, Ceilings: []collection.Ceiling{{Count: 2, Per: time.Minute}, {Count: 1000, Per: 24 * time.Hour}}}
	for _, tc := range []struct {
		provider collection.Provider
		play     func(g *gate.Gate) time.Time
		want     gate.Bound
	}{
		{collection.Provider{}, func(*gate.Gate) time.Time { return t0 }, gate.Rising},
		{collection.Provider{Unpaced: true}, func(*gate.Gate) time.Time { return t0 }, gate.InFlightMax},
		{minute, func(g *gate.Gate) time.Time {
			now, _ := attempt(t, g, t0, good)
			now, _ = attempt(t, g, now, good)
			return now
		}, gate.CeilingOf},
		{minute, func(g *gate.Gate) time.Time {
			now, _ := attempt(t, g, t0, gate.Outcome{Signal: law.Throttled, Hold: time.Hour})
			return now
		}, gate.HoldOf},
		{minute, func(g *gate.Gate) time.Time {
			now, _ := attempt(t, g, t0, gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "forbidden"})
			return now
		}, gate.FreezeOf},
		{collection.Provider{Unpaced: true}, func(g *gate.Gate) time.Time {
			g.Leave(&gate.Request{}, t0)
			return t0
		}, gate.InFlightMax},
		// The pace can rise no further.
		{collection.Provider{StartPerSecond: 2, Ceilings: []collection.Ceiling{{Count: 2, Per: time.Second}}}, func(*gate.Gate) time.Time { return t0 }, gate.CeilingOf},
		// The only route has a name.
		{collection.Provider{Unpaced: true}, func(g *gate.Gate) time.Time {
			g.Settle(t0, g.Leave(&gate.Request{}, t0), &gate.Outcome{Signal: law.Succeeded, Hold: -1, Key: "core", MaxRate: 2})
			return t0
		}, gate.Announced},
		// What limits one of several routes does not limit all.
		{collection.Provider{Unpaced: true, Routes: map[string]collection.Route{"found": {Name: "search"}}}, func(g *gate.Gate) time.Time {
			g.Settle(t0, g.Leave(&gate.Request{}, t0), &gate.Outcome{Signal: law.Succeeded, Hold: -1, Key: "core", MaxRate: 2})
			g.Leave(&gate.Request{}, t0)
			return t0
		}, gate.InFlightMax},
		// A person, longer than any house is full.
		{collection.Provider{Unpaced: true}, func(g *gate.Gate) time.Time {
			g.Settle(t0, g.Leave(&gate.Request{}, t0), &gate.Outcome{Signal: law.Silent, Hold: -1, Refused: "suspended", Operator: true})
			g.Leave(&gate.Request{}, t0)
			return t0
		}, gate.FreezeOf},
	} {
		g := open(t, tc.provider)
		now := tc.play(g)
		if got := binding(g.Status(now)); got != tc.want {
			t.Errorf("%s binds, want %s: %+v", got, tc.want, g.Status(now).Constraints)
		}
	}
}

// TestInForceIsThePace: what is learned has the pace that is in force where that is another, in the gate and in what
// is saved of it.
func TestInForceIsThePace(t *testing.T) {
	g, now := open(t, collection.Provider{}), t0
	due, others := t0, 0 // of a provider that takes five a second
	for range 2000 {
		for plan := g.Plan(&gate.Request{}, now); !plan.Ready; plan = g.Plan(&gate.Request{}, now) {
			now = plan.Until
		}
		o := good
		if due = due.Add(time.Second / 5); due.Before(now.Add(-2 * time.Second)) {
			due = now.Add(-2 * time.Second)
		} else if due.After(now) {
			due, o = due.Add(-time.Second/5), gate.Outcome{Signal: law.Throttled, Hold: -1}
		}
		pass := g.Leave(&gate.Request{}, now)
		now = now.Add(20 * time.Millisecond)
		g.Settle(now, pass, &o)
		seen, err := gate.Inspect(g.Snapshot(now), now)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []gate.Status{g.Status(now), seen} {
			for _, k := range s.Constraints {
				if k.Name != gate.Learned && k.Name != gate.Slow {
					continue
				}
				if pace := max(k.PerSecond, k.InForce); s.PerSecond > 1.001*pace {
					t.Fatalf("%v after the start, %.3g/s is in force, and what binds is %+v", now.Sub(t0), s.PerSecond, k)
				}
				if k.InForce > 0 {
					others++
				}
			}
		}
	}
	if others < 20 {
		t.Errorf("another pace than what was found was in force %d times, want some", others)
	}
}

// TestEachLimitIsTold once, of the account and of each route.
func TestEachLimitIsTold(t *testing.T) {
	g := open(t, collection.Provider{StartPerSecond: 1, Routes: map[string]collection.Route{"found": {Name: "search"}}})
	got := strings.Join(lines(g.Status(t0).Constraints, t0), "\n")
	if want := "undeclared() 4/s\nrising() 1/s binds\nrising(search) 1/s\nin_flight()"; got != want {
		t.Errorf("told are\n%s\nwant\n%s", got, want)
	}
}

// TestInspectSeesTheConstraints that the process saw which saved the state.
func TestInspectSeesTheConstraints(t *testing.T) {
	p := collection.Provider{Ceilings: []collection.Ceiling{{Count: 2, Per: time.Hour}}}
	g := open(t, p)
	now, _ := attempt(t, g, t0, good)
	now, _ = attempt(t, g, now, good)
	live := g.Status(now)
	kept, err := gate.Inspect(g.Snapshot(now), now)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(kept.Constraints[0]), fmt.Sprint(live.Constraints[0]); got != want {
		t.Errorf("inspected as\n%s\nlive it was\n%s", got, want)
	}
	if c := kept.Constraints[0]; c.Name != gate.CeilingOf || c.Used != 2 || c.Count != 2 || !c.Binds || !c.Until.After(now) {
		t.Errorf("the ceiling is %+v, want used up", c)
	}
}

// Requests that the provider's host refuses within a millisecond say nothing of what limits the pace: neither
// that the run asks for no more, nor how many a second fit into what may be in flight.
func TestWhatFailsIsNoPace(t *testing.T) {
	g, err := gate.New(collection.Provider{}, "", time.Hour, 8)
	if err != nil {
		t.Fatal(err)
	}
	now := t0
	for range 5 {
		r := gate.Request{}
		p := g.Plan(&r, now)
		for !p.Ready {
			now = p.Until
			p = g.Plan(&r, now)
		}
		pass := g.Leave(&r, now)
		now = now.Add(time.Millisecond)
		g.Settle(now, pass, &gate.Outcome{Signal: law.Failed, Hold: -1})
	}
	s := g.Status(now)
	for _, k := range s.Constraints {
		if k.Name == gate.Unused || k.Name == gate.InFlightMax && k.PerSecond > 0 {
			t.Errorf("after %d of %d requests failed, %s limits the pace to %.3g/s", s.Failed, s.Ended, k.Name, k.PerSecond)
		}
	}
}

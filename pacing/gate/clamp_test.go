package gate_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

var refused = gate.Outcome{Signal: law.Throttled, Hold: -1}

// TestClampIsTold: each move of the clamp, down and up, is an event that is
// saved before anything else leaves.
func TestClampIsTold(t *testing.T) {
	const whole = 2 // a second
	p := collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 60 * whole, Per: time.Minute}}}
	state, _, _ := gate.ForceClosed(nil, t0, "") // the breaker is not what is tested
	g, now := resume(t, p, state, t0), t0
	share, moves := 1.0, map[string]int{}
	for i := range 2000 {
		o := good
		if i < 500 && i%10 == 0 {
			o = refused
		}
		for plan := g.Plan(&gate.Request{}, now); !plan.Ready; plan = g.Plan(&gate.Request{}, now) {
			now = plan.Until
		}
		changes, save := g.Settle(now, g.Leave(&gate.Request{}, now), &o)
		for _, e := range changes {
			if e.Clamp == nil {
				continue
			}
			c := *e.Clamp
			why := "too_much_refused"
			if c.Ratio > share {
				why = "little_refused"
			}
			if e.Kind != collection.ClampChanged || !save || c.Previous != share || math.Abs(c.Ceiling-whole*c.Ratio) > 1e-9 || c.Reason != why {
				t.Errorf("request %d: %s %+v, saved %t, after a share of %v", i, e.Kind, c, save, share)
			}
			share = c.Ratio
			moves[c.Reason]++
		}
		if st := g.Status(now); clampIn(st.Constraints) != whole*share && share < 1 {
			t.Fatalf("request %d: told of a share of %v, and in force is %v", i, share, clampIn(st.Constraints))
		}
	}
	if share != 1 || moves["too_much_refused"] < 2 || moves["little_refused"] != moves["too_much_refused"] {
		t.Errorf("the share is %v after moves %v", share, moves)
	}
}

// TestClampedPace is 30 a minute at each share, with the law switched off, and
// across restarts.
func TestClampedPace(t *testing.T) {
	p := collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 30, Per: time.Minute}}}
	// The breaker is not what is tested.
	state, _, _ := gate.ForceClosed(nil, t0, "")
	g, now := resume(t, p, state, t0), t0
	var got []time.Duration
	for range 6 {
		now, _ = attempt(t, g, now, refused)
		next, _ := attempt(t, g, now, refused)
		got = append(got, next.Sub(now).Round(ms))
		for was := clampIn(g.Status(next).Constraints); clampIn(g.Status(now).Constraints) == was && now.Sub(next) < 5*time.Minute; {
			now, _ = attempt(t, g, now, refused)
		}
		g.SettleUp()
		g = resume(t, p, g.Snapshot(now), now)
	}
	want := []time.Duration{0, 2222 * ms, 2500 * ms, 2857 * ms, 3333 * ms, 4000 * ms}
	if !slices.Equal(got, want) {
		t.Errorf("intervals %v, want %v", got, want)
	}
}

func clampIn(all []gate.Constraint) float64 {
	for _, c := range all {
		if c.Name == gate.ClampOf {
			return c.PerSecond
		}
	}
	return 0
}

// TestNoClampWithoutACeiling, or if it is off.
func TestNoClampWithoutACeiling(t *testing.T) {
	ceiling := []collection.Ceiling{{Count: 2, Per: time.Second}}
	for name, tc := range map[string]struct {
		provider collection.Provider
		want     bool
	}{
		"none declared": {collection.Provider{Unpaced: true}, false},
		"a budget":      {collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 1e6, Per: 24 * time.Hour}}}, false},
		"off":           {collection.Provider{Unpaced: true, Ceilings: ceiling, Clamp: collection.Clamp{Off: true}}, false},
		"declared":      {collection.Provider{Unpaced: true, Ceilings: ceiling}, true},
	} {
		state, _, _ := gate.ForceClosed(nil, t0, "")
		g, now := resume(t, tc.provider, state, t0), t0
		for range 200 {
			now, _ = attempt(t, g, now.Add(time.Second), refused)
		}
		if got := clampIn(g.Status(now).Constraints) > 0; got != tc.want {
			t.Errorf("%s: clamped %v, want %v", name, got, tc.want)
		}
		if got := bytes.Contains(g.Snapshot(now), []byte(`"clamp"`)); got != tc.want {
			t.Errorf("%s: saved as clamped %v, want %v", name, got, tc.want)
		}
		// What another declaration left behind does not bind.
		g = resume(t, tc.provider, []byte(`{"version":1,"recorded_at":"2026-11-21T10:00:00Z","clamp":{"share":0.5,"since":"2026-11-21T10:00:00Z"}}`), t0)
		first, _ := attempt(t, g, t0, good)
		if second, _ := attempt(t, g, first, good); second.After(first) != tc.want {
			t.Errorf("%s: two requests leave at %v and %v", name, first, second)
		}
	}
}

// TestOneRefusalIsPunishedOnce: the law slows down, and the clamp does not.
func TestOneRefusalIsPunishedOnce(t *testing.T) {
	p := collection.Provider{StartPerSecond: 2, Ceilings: []collection.Ceiling{{Count: 4, Per: time.Second}}}
	g, err := gate.New(p, "", time.Minute, 8)
	if err != nil {
		t.Fatal(err)
	}
	now := t0
	for range 20 {
		for range 50 {
			now, _ = attempt(t, g, now, good)
		}
		var flying []gate.Pass
		for len(flying) < 8 { // and refused together: 14 % of the attempts, and 2 % of the news
			if plan := g.Plan(&gate.Request{}, now); !plan.Ready {
				now = plan.Until
				continue
			}
			flying = append(flying, g.Leave(&gate.Request{}, now))
		}
		for _, p := range flying {
			g.Settle(now, p, &refused)
		}
	}
	if got := clampIn(g.Status(now).Constraints); got != 0 {
		t.Errorf("one episode in 58 requests clamped the pace at %v/s", got)
	}
}

// TestClampRisesWithASuccess: an error, which says nothing about the pace or
// belongs to an episode that was counted, never raises the ceiling, though a
// calm minute has passed.
func TestClampRisesWithASuccess(t *testing.T) {
	g, now := open(t, collection.Provider{Ceilings: []collection.Ceiling{{Count: 60, Per: time.Minute}}}), t0
	clamped := func() float64 {
		for _, c := range g.Status(now).Constraints {
			if c.Name == gate.ClampOf {
				return c.PerSecond
			}
		}
		return 1
	}
	end := func(s law.Signal) {
		p := g.Leave(&gate.Request{}, now)
		now = now.Add(100 * ms)
		g.Settle(now, p, &gate.Outcome{Signal: s, Hold: -1})
	}
	for range 21 {
		end(law.Throttled)
		end(law.Succeeded)
	}
	now = now.Add(time.Minute)
	end(law.Succeeded)
	lowered := clamped()
	if lowered == 1 {
		t.Fatal("half of the requests were refused, and the ceiling is what it was")
	}
	for range 80 {
		end(law.Succeeded)
	}
	now = now.Add(time.Minute)
	for _, s := range []law.Signal{law.Failed, law.Throttled, law.Failed} {
		if end(s); clamped() != lowered {
			t.Errorf("signal %d moved the ceiling from %v/s to %v/s", s, lowered, clamped())
		}
	}
	if end(law.Succeeded); clamped() <= lowered {
		t.Errorf("a success after a calm minute leaves the ceiling at %v/s", clamped())
	}
}

package gate_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// burn ends 100 attempts in a minute, of which so many are refused, and returns
// the share that is in force at its end.
func burn(c *gate.Clamp, now *time.Time, refused int) float64 {
	for i := range 100 {
		*now = now.Add(600 * ms)
		c.OnResult(i < refused, *now)
	}
	return c.Share()
}

// TestClampWalk: down by a tenth in each minute of too many refusals, and up
// again in each that has fewer than half as many.
func TestClampWalk(t *testing.T) {
	c, now := gate.NewClamp(collection.Clamp{}), t0
	c.OnResult(false, now)
	var got []float64
	for _, refused := range []int{6, 20, 100, 6, 6, 6, 5, 3, 2, 2, 0, 0, 0, 0} {
		got = append(got, burn(&c, &now, refused))
	}
	if want := []float64{.9, .8, .7, .6, .5, .5, .5, .5, .6, .7, .8, .9, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("shares %v, want %v", got, want)
	}
}

// TestClampDoesNotSwing: a burn around the threshold moves it down and never
// up, and one refusal does not move it at all.
func TestClampDoesNotSwing(t *testing.T) {
	c, now := gate.NewClamp(collection.Clamp{}), t0
	var got []float64
	for i := range 12 {
		got = append(got, burn(&c, &now, 4+i%3))
	}
	if !slices.IsSortedFunc(got, func(a, b float64) int { return int(math.Copysign(1, b-a)) * btoi(a != b) }) {
		t.Errorf("around the threshold the share goes %v", got)
	}
	c, now = gate.NewClamp(collection.Clamp{}), t0
	for i := range 40 { // a slow provider: one in 30 s, each twentieth refused
		now = now.Add(30 * time.Second)
		if c.OnResult(i%20 == 3, now) {
			t.Errorf("request %d: a single refusal moved it to %v", i, c.Share())
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestClampBounds: whatever happens, it is a step at most in a cooldown, within
// its bounds, and only refusals lower it.
func TestClampBounds(t *testing.T) {
	var checks, downs, ups int
	rapid.Check(t, func(t *rapid.T) {
		checks++
		policy := collection.Clamp{
			Burn: rapid.Float64Range(.01, .5).Draw(t, "burn"), Least: rapid.Float64Range(.1, .9).Draw(t, "least"),
			Step: rapid.Float64Range(.02, .5).Draw(t, "step"), Cooldown: time.Duration(rapid.IntRange(1, 100).Draw(t, "cooldown s")) * time.Second,
		}
		c, now := gate.NewClamp(policy), t0
		moved, any := time.Time{}, false
		bad := false
		for i := range rapid.IntRange(200, 600).Draw(t, "attempts") {
			if i%50 == 0 {
				bad = rapid.Bool().Draw(t, "a bad time")
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "s")) * time.Second)
			refused := bad && rapid.Bool().Draw(t, "refused")
			any = any || refused
			was := c.Share()
			changed := c.OnResult(refused, now)
			is := c.Share()
			if changed != (is != was) || is < policy.Least || is > 1 || math.Abs(is-was) > policy.Step+1e-6 {
				t.Fatalf("from %v to %v, and it says %v", was, is, changed)
			}
			if !changed {
				continue
			}
			if !any {
				t.Fatal("it moved without a refusal")
			}
			if !moved.IsZero() && now.Sub(moved) < policy.Cooldown {
				t.Fatalf("moved again after %v", now.Sub(moved))
			}
			moved = now
			if is < was {
				downs++
			} else {
				ups++
			}
		}
	})
	if min(downs, ups) < checks/2 {
		t.Errorf("in %d checks it went down %d times and up %d times", checks, downs, ups)
	}
}

var refused = gate.Outcome{Signal: law.Throttled, Hold: -1}

// TestClampNeedsATimeAndAttempts: it moves when a cooldown is over and 20
// attempts have ended, and neither before, and not at the threshold itself.
func TestClampNeedsATimeAndAttempts(t *testing.T) {
	policy := collection.Clamp{Burn: 0.25, Cooldown: time.Minute}
	for _, tc := range []struct {
		attempts, refused int
		after             time.Duration
		moves             bool
	}{
		{20, 6, time.Minute, true}, {19, 6, time.Minute, false}, {20, 6, time.Minute - 1, false},
		{20, 5, time.Minute, false}, {200, 200, time.Minute - 1, false},
	} {
		c, moved := gate.NewClamp(policy), false
		for i := range tc.attempts {
			now := t0
			if i == tc.attempts-1 {
				now = t0.Add(tc.after)
			}
			moved = c.OnResult(i < tc.refused, now)
		}
		if moved != tc.moves {
			t.Errorf("%d of %d refused in %v: moved %t, want %t", tc.refused, tc.attempts, tc.after, moved, tc.moves)
		}
	}
}

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

// TestClampStaysAtHalfTheThreshold: fewer than that raise the ceiling again.
func TestClampStaysAtHalfTheThreshold(t *testing.T) {
	for refused, want := range map[int]float64{10: .9, 9: 1} {
		c, now := gate.NewClamp(collection.Clamp{Burn: 0.2}), t0
		c.OnResult(false, now)
		burn(&c, &now, 50)
		if got := burn(&c, &now, refused); got != want {
			t.Errorf("%d of 100 refused leave a share of %v, want %v", refused, got, want)
		}
	}
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

package ceiling_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing/gate/internal/ceiling"
	"collect/pacing/law"
)

// A clamp is one that is told times.
type clamp struct{ ceiling.Clamp }

func newClamp(p collection.Clamp) clamp {
	c, _ := ceiling.NewClamp(p)
	return clamp{c}
}

func (c *clamp) observe(refused bool, now time.Time) (moved bool) {
	signal := law.Succeeded
	if refused {
		signal = law.Throttled
	}
	return c.Observe(signal, refused, now.Sub(t0)) != nil
}

// burn ends 100 attempts in a minute, of which so many are refused, and returns
// the share that is in force at its end.
func burn(c *clamp, now *time.Time, refused int) float64 {
	for i := range 100 {
		*now = now.Add(600 * ms)
		c.observe(i < refused, *now)
	}
	return c.Share()
}

// TestClampWalk: down by a tenth in each minute of too many refusals, and up
// again in each that has fewer than half as many.
func TestClampWalk(t *testing.T) {
	c, now := newClamp(collection.Clamp{}), t0
	c.observe(false, now)
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
	c, now := newClamp(collection.Clamp{}), t0
	var got []float64
	for i := range 12 {
		got = append(got, burn(&c, &now, 4+i%3))
	}
	if !slices.IsSortedFunc(got, func(a, b float64) int { return int(math.Copysign(1, b-a)) * btoi(a != b) }) {
		t.Errorf("around the threshold the share goes %v", got)
	}
	c, now = newClamp(collection.Clamp{}), t0
	for i := range 40 { // a slow provider: one in 30 s, each twentieth refused
		now = now.Add(30 * time.Second)
		if c.observe(i%20 == 3, now) {
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
		c, now := newClamp(policy), t0
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
			changed := c.observe(refused, now)
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
		c, moved := newClamp(policy), false
		for i := range tc.attempts {
			now := t0
			if i == tc.attempts-1 {
				now = t0.Add(tc.after)
			}
			moved = c.observe(i < tc.refused, now)
		}
		if moved != tc.moves {
			t.Errorf("%d of %d refused in %v: moved %t, want %t", tc.refused, tc.attempts, tc.after, moved, tc.moves)
		}
	}
}

// TestClampStaysAtHalfTheThreshold: fewer than that raise the ceiling again.
func TestClampStaysAtHalfTheThreshold(t *testing.T) {
	for refused, want := range map[int]float64{10: .9, 9: 1} {
		c, now := newClamp(collection.Clamp{Burn: 0.2}), t0
		c.observe(false, now)
		burn(&c, &now, 50)
		if got := burn(&c, &now, refused); got != want {
			t.Errorf("%d of 100 refused leave a share of %v, want %v", refused, got, want)
		}
	}
}

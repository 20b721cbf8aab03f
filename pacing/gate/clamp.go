package gate

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// The defaults of the clamp. The bounds, the step, the cooldown and the factor
// between down and up are those of the RFC that describes it, which leaves the
// threshold open. One in twenty is ours: the laws refuse themselves a tenth of
// that (docs/pacing-score.md), so what is above it the law did not mend.
const (
	clampBurn     = 0.05
	clampLeast    = 0.5
	clampStep     = 0.1
	clampCooldown = time.Minute
	clampCalm     = 0.5 // of the threshold: below it, up
	clampFinest   = 0.01
	clampEvidence = 20 // attempts, so that one refusal is never above one in twenty
)

// A clamp lowers the ceiling of the owner while the provider refuses too much
// under it. The burn is the share of attempts that began an episode of
// refusals, since the last decision, which is at least a cooldown and 20
// attempts ago:
//
//	burn > threshold      the ceiling is a step lower, down to the least
//	burn < threshold / 2  a step higher, up to all of it
//	between them          as it is
//
// So a single refusal never moves it, nor do several of one episode, and a burn
// around the threshold does not make it swing. It moves the ceiling only: the
// law moves the pace under it, response by response.
type clamp struct {
	policy  collection.Clamp
	down    int // steps below the whole ceiling
	since   law.Moment
	sent    int // attempts that ended since then
	refused int // of which so many began an episode
	begun   bool
	burn    float64 // at the last decision
}

func newClamp(c collection.Clamp) (clamp, error) {
	c.Burn = cmp.Or(c.Burn, clampBurn)
	c.Least = cmp.Or(c.Least, clampLeast)
	c.Step = cmp.Or(c.Step, clampStep)
	c.Cooldown = cmp.Or(c.Cooldown, clampCooldown)
	share := func(v float64) bool { return v > 0 && v < 1 }
	if !share(c.Burn) || !share(c.Least) || !(c.Step >= clampFinest && c.Step < 1) || c.Cooldown <= 0 {
		return clamp{}, fmt.Errorf("clamp of %v to %v in steps of %v every %v: there is no such", c.Burn, c.Least, c.Step, c.Cooldown)
	}
	return clamp{policy: c}, nil
}

// share returns how much of the ceiling is in force.
func (c *clamp) share() float64 {
	if c.down == 0 {
		return 1
	}
	share := 1 - float64(c.down)*c.policy.Step
	return max(c.policy.Least, math.Round(share*1e6)/1e6) // so that ten steps of a tenth are whole
}

// count counts an attempt, and whether an episode of refusals began with it. It
// reports whether it is time to decide.
func (c *clamp) count(refused bool, now law.Moment) (due bool) {
	if !c.begun {
		c.since, c.begun = now, true
	}
	c.sent++
	if refused {
		c.refused++
	}
	return now-c.since >= c.policy.Cooldown && c.sent >= clampEvidence && !c.policy.Off
}

// decide moves the clamp, or leaves it, after an attempt that ended with s. It
// returns the share before, if it moved; 0 if not.
func (c *clamp) decide(s law.Signal, now law.Moment) (moved float64) {
	was := c.share()
	c.burn = float64(c.refused) / float64(c.sent)
	calm := c.burn < c.policy.Burn*clampCalm && c.down > 0
	switch {
	case calm && (s == law.Throttled || s == law.Failed):
		return 0 // up with the next success: an error makes nothing faster
	case c.burn > c.policy.Burn && was > c.policy.Least:
		c.down++
	case calm:
		c.down--
	}
	c.since, c.sent, c.refused = now, 0, 0
	if c.share() == was {
		return 0
	}
	return was
}

// Why the clamp moved.
const (
	refusedMuch   = "too_much_refused"
	refusedLittle = "little_refused"
)

// clampChanged tells of a move of the clamp.
func (g *Gate) clampChanged(was float64) collection.Event {
	share, reason := g.clamp.share(), refusedMuch
	if share > was {
		reason = refusedLittle
	}
	return collection.Event{Kind: collection.ClampChanged, Clamp: &collection.ClampInfo{
		Previous: was, Ratio: share, Ceiling: share * g.ceiling, Burn: g.clamp.burn, Reason: reason,
	}}
}

// spread returns the rate that all requests together must not exceed, in
// addition to what each law says; 0 if the one law sees to it.
func (g *Gate) spread() float64 {
	if (g.ceiling == 0 || g.clamp.down == 0) && (len(g.routes) == 1 || g.unpaced) {
		return 0
	}
	return cmp.Or(g.ceiling, g.Most()) * g.clamped()
}

// clamped returns how much of the ceiling is in force. Without a ceiling there
// is nothing to clamp.
func (g *Gate) clamped() float64 {
	if g.ceiling == 0 {
		return 1
	}
	return g.clamp.share()
}

// A keptClamp is the saved form of a clamp that lowers the ceiling.
type keptClamp struct {
	Share float64   `json:"share"`
	Since time.Time `json:"since"`
}

func (c *clamp) snapshot(clock *timeline.Timeline) *keptClamp {
	if c.share() == 1 {
		return nil
	}
	return &keptClamp{c.share(), clock.Kept(c.since)}
}

// restore continues a clamp. What was counted since its last move is lost, and
// the cooldown begins anew.
func (c *clamp) restore(k *keptClamp, now law.Moment) {
	if k == nil || c.policy.Off {
		return
	}
	for c.share() > max(k.Share, c.policy.Least)+c.policy.Step/2 {
		c.down++
	}
	c.since, c.begun = now, true
}

// seen returns a clamp to be looked at.
func (k *keptClamp) seen(clock *timeline.Timeline) clamp {
	if k == nil || k.Share <= 0 {
		return clamp{}
	}
	return clamp{policy: collection.Clamp{Step: 1 - k.Share}, down: 1, since: clock.Of(k.Since)}
}

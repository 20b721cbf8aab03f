package ceiling

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

// A Clamp lowers the ceiling of the owner while the provider refuses too much
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
type Clamp struct {
	policy  collection.Clamp
	down    int // steps below the whole ceiling
	since   law.Moment
	sent    int // attempts that ended since then
	refused int // attempts that began an episode of refusals since then
	begun   bool
}

// NewClamp returns the clamp of a policy, of which what is 0 is as usual.
func NewClamp(c collection.Clamp) (Clamp, error) {
	c.Burn = cmp.Or(c.Burn, clampBurn)
	c.Least = cmp.Or(c.Least, clampLeast)
	c.Step = cmp.Or(c.Step, clampStep)
	c.Cooldown = cmp.Or(c.Cooldown, clampCooldown)
	share := func(v float64) bool { return v > 0 && v < 1 }
	if !share(c.Burn) || !share(c.Least) || !(c.Step >= clampFinest && c.Step < 1) || c.Cooldown <= 0 {
		return Clamp{}, fmt.Errorf("clamp of %v to %v in steps of %v every %v: there is no such", c.Burn, c.Least, c.Step, c.Cooldown)
	}
	return Clamp{policy: c}, nil
}

// Share returns how much of the ceiling is in force.
func (c *Clamp) Share() float64 {
	if c.down == 0 {
		return 1
	}
	share := 1 - float64(c.down)*c.policy.Step
	return max(c.policy.Least, math.Round(share*1e6)/1e6) // so that ten steps of a tenth are whole
}

// Observe counts an attempt that ended with s, and whether an episode of refusals
// began with it. It returns how that moves the clamp; nil if it does not.
func (c *Clamp) Observe(s law.Signal, refused bool, now law.Moment) *collection.ClampInfo {
	if !c.begun {
		c.since, c.begun = now, true
	}
	c.sent++
	if refused {
		c.refused++
	}
	if now-c.since < c.policy.Cooldown || c.sent < clampEvidence || c.policy.Off {
		return nil
	}
	return c.decide(s, now)
}

// decide moves the clamp, or leaves it.
func (c *Clamp) decide(s law.Signal, now law.Moment) *collection.ClampInfo {
	was, reason := c.Share(), "too_much_refused"
	burn := float64(c.refused) / float64(c.sent)
	calm := burn < c.policy.Burn*clampCalm && c.down > 0
	switch {
	case calm && (s == law.Throttled || s == law.Failed):
		return nil // up with the next success: an error makes nothing faster
	case burn > c.policy.Burn && was > c.policy.Least:
		c.down++
	case calm:
		c.down--
		reason = "little_refused"
	}
	c.since, c.sent, c.refused = now, 0, 0
	if c.Share() == was {
		return nil
	}
	return &collection.ClampInfo{Previous: was, Ratio: c.Share(), Burn: burn, Reason: reason}
}

// A KeptClamp is the saved form of a clamp that lowers the ceiling.
type KeptClamp struct {
	Share float64   `json:"share"`
	Since time.Time `json:"since"`
}

// Since returns since when the ceiling is as low as it is.
func (c *Clamp) Since() law.Moment { return c.since }

// Keep returns the clamp as it is saved; nil if all of the ceiling is in force.
func (c *Clamp) Keep(clock *timeline.Timeline) *KeptClamp {
	if c.Share() == 1 {
		return nil
	}
	return &KeptClamp{c.Share(), clock.Kept(c.since)}
}

// Restore continues a clamp. What was counted since its last move is lost, and
// the cooldown begins anew.
func (c *Clamp) Restore(k *KeptClamp, now law.Moment) {
	if k == nil || c.policy.Off {
		return
	}
	for c.Share() > max(k.Share, c.policy.Least)+c.policy.Step/2 {
		c.down++
	}
	c.since, c.begun = now, true
}

// Seen returns a clamp to be looked at.
func (k *KeptClamp) Seen(clock *timeline.Timeline) Clamp {
	if k == nil || k.Share <= 0 {
		return Clamp{}
	}
	return Clamp{policy: collection.Clamp{Step: 1 - k.Share}, down: 1, since: clock.Of(k.Since)}
}

package route

import (
	"math"
	"time"

	"collect/pacing/law"
)

// The constants of trials: chosen, and judged by the tests of pacing/sim.
const (
	trialGain    = 1.35            // of the pace before: all together must reach it
	trialLong    = 3 * time.Minute // after it, no window of a minute does,
	trialWindows = 3               // nor one that is known after as many
	trialLongest = time.Hour       // that is believed of one that was kept

	togetherOdds  = 100             // to 1 that two routes are one
	togetherSlots = 2               // intervals, or
	togetherFor   = 2 * time.Second // from a refusal of the one to a refusal of the other
	togetherOne   = 0.5             // of the refusals come together, if the routes are one,
	togetherTwo   = 0.1             // and if they are not
)

// A trial is what is known of a route that a stream has because of its refusals.
type trial struct {
	stream  string
	sure    bool          // it is kept
	pace    float64       // of all together, before the trial
	shared  *Pace         // the law of all together, until then; nil: not known any more
	long    time.Duration // after so long it is sure
	began   law.Moment
	answers float64       // since then, of this route and of the others
	refused [2]law.Moment // when the others, and this route, were refused last; 0: they were not
	odds    float64       // logarithm of those that it is no route
	over    bool          // it is none, and ends with the next answer
}

// refuse notes a refusal of this route, or of the others.
func (t *trial) refuse(own bool, near, now law.Moment) {
	this, other := 0, 1
	if own {
		this, other = 1, 0
	}
	t.refused[this] = now
	ratio := (1 - togetherOne) / (1 - togetherTwo)
	if at := t.refused[other]; at > 0 && now-at <= max(near, togetherFor) {
		ratio = togetherOne / togetherTwo
	}
	t.odds = max(0, t.odds+math.Log(ratio))
}

// isOne reports whether it turned out that the provider does not count the route
// apart.
func (t *trial) isOne(refused bool, now law.Moment) bool {
	if t.sure {
		return refused && t.odds >= math.Log(togetherOdds)
	}
	since := now - t.began
	faster := t.answers >= trialGain*t.pace*since.Seconds()
	switch {
	case since >= t.long && faster:
		t.sure, t.shared = true, nil
	case !faster && t.refused[0] > 0:
		return refused || since >= t.long
	}
	return false
}

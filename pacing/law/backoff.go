package law

import (
	"cmp"
	"time"
)

// pauseLongest is the longest that a pause can be.
const pauseLongest = pauseCap + 3*pauseCap/20

// A keptBackoff is the saved form of an episode that has not ended, because
// everything was refused. The next process goes on with it: it waits for the end
// of the pause and asks once, and does not begin with short pauses again.
type keptBackoff struct {
	From    float64       `json:"from_per_second"` // the pace before it
	For     time.Duration `json:"for_ns"`          // it had lasted when the provider was last heard,
	Pause   time.Duration `json:"pause_ns"`        // and from then on nothing was to leave for so long
	Refused int32         `json:"refused"`         // probes
}

// backoff returns the episode as it is kept; nil if there is none. What may be an
// outage is asked soon, and what is told to last is kept as that.
func (p *plateau) backoff() *keptBackoff {
	if !p.blocked || p.weak || p.spent {
		return nil
	}
	heard := cmp.Or(p.heardAt, p.failed)
	return &keptBackoff{p.from, heard - p.at, max(0, p.pause-heard), p.tries}
}

// goOn continues the episode k of a run before, which was heard some time ago.
// Its moments count from the first request that is asked for: see Next.
func (p *plateau) goOn(k *keptBackoff, age time.Duration) {
	if k == nil || !sane(k.From) {
		return
	}
	p.blocked, p.inherited, p.weak, p.spent = true, true, false, false
	p.from, p.tries = k.From, max(0, min(k.Refused, pauseDoublings))
	p.was, p.goalWas = steady, p.plateauOr(k.From)
	if p.limit() == 0 {
		p.was = startup
	}
	p.failed = -age
	p.at = p.failed - max(0, min(k.For, banHolds))
	p.pause = max(0, min(k.Pause, pauseLongest)-age)
}

// recoverLater ends an episode of a run before with the first request of this
// one. For how long it went on after the last refusal is not known, so there is
// nothing to learn from it.
func (p *plateau) recoverLater(now Moment) {
	restart := p.restart || p.was == startup
	p.lasted, p.inherited = p.failed-p.at, false
	p.done.begin(now)
	p.climb(p.plateauOr(p.from))
	p.restart = restart
}

// Backoff returns for how long nothing should leave yet, because everything was
// refused when the provider was heard some time ago; 0 if it was not.
func (m Memory) Backoff(ago time.Duration) time.Duration {
	if m.Plateau == nil || m.Plateau.Backoff == nil {
		return 0
	}
	return max(0, min(m.Plateau.Backoff.Pause, pauseLongest)-max(0, ago))
}

// Refused returns for how long everything had been refused when the provider was
// heard last; 0 if it had not.
func (m Memory) Refused() time.Duration {
	if m.Plateau == nil || m.Plateau.Backoff == nil {
		return 0
	}
	return m.Plateau.Backoff.For
}

package law

import (
	"cmp"
	"time"
)

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
	if p.known == 0 && !p.guessed() {
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

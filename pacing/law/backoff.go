package law

import (
	"cmp"
	"time"
)

// backoff returns the episode as it is kept; nil if there is none. What may be an
// outage is asked soon, and what is told to last is kept as that.
func (p *plateau) backoff() *keptBackoff {
	if !p.blocked || p.weak && !p.slow && !p.losses.drops() || p.spent {
		return nil
	}
	heard := p.lastHeard()
	k := &keptBackoff{From: p.from, For: heard - p.at, Pause: max(0, p.pause-heard), Refused: p.tries, Asked: p.asked, Was: p.was, Burst: p.burst, Slow: p.slow, Lost: p.weak && !p.slow, Lied: p.lied}
	switch n := len(p.levels); {
	case p.was == recovering:
		k.Goal = p.goalWas
	case p.was == probing && n > 0:
		k.Proven, k.Tried = p.proven(), p.at-p.levels[n-1].at
	}
	return k
}

// lastHeard returns when the provider was heard last: in a run before, if its episode or
// its count goes on and nothing was answered in this one; 0 if that is not known.
func (p *plateau) lastHeard() Moment {
	if p.blocked {
		return cmp.Or(p.heardAt, p.failed)
	}
	return cmp.Or(p.heardAt, p.done.until)
}

// goOn continues the episode k of a run before, which was heard some time ago.
// Its moments count from the first request that is asked for: see Next.
func (p *plateau) goOn(k *keptBackoff, age time.Duration) {
	p.blocked, p.before, p.weak, p.slow, p.spent = true, true, k.Slow || k.Lost, k.Slow, false
	p.from, p.tries, p.asked = k.From, max(0, min(k.Refused, pauseDoublings)), max(0, min(k.Asked, banHolds))
	p.carried, p.trying = 0, 0
	p.was, p.goalWas, p.lied = k.Was, k.Goal, k.Lied
	if !sane(k.Goal) {
		p.goalWas = p.plateauOr(k.From)
	}
	if sane(k.Burst) {
		p.burst = k.Burst
	}
	p.failed = -age
	p.at = p.failed - max(0, min(k.For, banHolds))
	if p.base = p.plateauOr(k.From); k.Was == probing {
		if sane(k.Proven) {
			p.base = k.Proven
		}
		p.levels = append(p.levels[:0], level{k.From, p.at - max(0, min(k.Tried, longOutage))})
	}
	p.pause = max(0, min(k.Pause, pauseLongest)-age)
}

// wake goes on with an episode of a run before, and with the count that it is to end, if
// little time was missed. For how long it went on after the last refusal is not known
// otherwise: then it is over when it was told to be, or as far as it was seen, and what is
// left of its pause is waited for.
func (p *plateau) wake(kp keptPlateau, age time.Duration) {
	k := kp.Backoff
	refused := k != nil && sane(k.From) && k.Was <= following
	goesOn := kp.Count.goesOn(age, refused)
	if goesOn || refused && kp.Count.sane() {
		p.done.goOn(kp.Count, age, refused)
	}
	if !refused {
		return
	}
	p.goOn(k, age)
	if goesOn {
		return
	}
	if kp.Count.sane() {
		p.recover(max(p.failed, p.at+p.asked))
		p.goOn(k, age)
	}
	p.inherited = true
}

// recoverLater ends an episode of a run before, of which nothing is left to learn, with
// the first request of this one.
func (p *plateau) recoverLater(now Moment) {
	restart := p.restart || p.was == startup && p.known == 0 && !p.guessed()
	p.lasted, p.inherited = p.failed-p.at, false
	p.done.begin(now)
	p.climb(p.plateauOr(p.from))
	p.restart = restart
}

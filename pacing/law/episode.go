package law

import (
	"time"
)

// The constants of episodes: chosen, and judged together by docs/pacing-score.md.
const (
	pauseLeast     = 250 * time.Millisecond // before the first probe of an episode
	pauseMost      = 5 * time.Second        // and at most, before another episode told of more
	pauseSilent    = 90 * time.Second       // after the one before left, where nothing but silence or 503 speaks
	pauseShort     = time.Minute            // from there on, half of what the episode has lasted
	pauseLast      = 0.4                    // of the length of the last episode
	sameAgain      = 1.05                   // of it, after which this one is over, if it is as long
	pauseJitter    = 0.3                    // 0.85 to 1.15
	pauseDoublings = 12                     // at most

	banShare = 0.7 // of the pace that was forbidden
)

// An episode lasts from a refusal to the first answer to a request that left
// after it.
type episode struct {
	blocked   bool          // it is open
	before    bool          // it began in a run before,
	inherited bool          // whose count does not go on, and nothing was refused in this one
	weak      bool          // nothing but bare 503s, or losses
	slow      bool          // answers took nearly as long as what was lost: the provider is not away
	spent     bool          // it began when nothing, or the last of a budget, was left, or others had all the places: it says nothing of the pace
	lied      bool          // headers had promised the pace
	outage    bool          // the one before looked like an outage
	was       mode          // the mode in which it began,
	tries     int32         // probes that were refused
	from      float64       // and the pace
	goalWas   float64       // where it was climbing to
	at        Moment        // when it began
	failed    Moment        // of the latest refusal
	asked     time.Duration // by Retry-After
	pause     Moment        // nothing leaves before it
	lasted    time.Duration // the last one that was not by chance
	ended     Moment        // when that was over
	burst     float64       // work per second that was answered shortly before
	doubt     float64       // the pace before a refusal that may be by chance; 0: there was none
	suspicion float64       // lone weak refusals lately
	prior     *lastBlock    // the block that the next long one is compared with; nil: there was none
	dear      time.Duration // what the last refusal cost that was learned from
}

// refuse begins an episode, or goes on with it. What left before the decrease
// is the same refusal again.
func (p *plateau) refuse(d *Ticket, o *Outcome, now Moment) {
	fresh := d.ID > p.fence
	p.inFlight.refused(d, fresh && !p.blocked, o.Weak)
	if !fresh || p.inFlight.exceeded(d) || o.AtOnce && p.inFlight.fewer(d) {
		return
	}
	switch {
	case p.blocked:
		p.weak = p.weak && o.Weak
		p.tryAgain(now) // also if a time was told: it was too short
		return
	case o.Weak && p.losses.shared(): // one of them is what is usual
		p.lose(d, &Outcome{Signal: Failed, Overdue: true}, now)
		return
	case o.Weak:
		p.lones.refused(max(p.wanted(), p.doubt), &p.done, now)
		if p.doubt == 0 && p.byChance() {
			p.suspect(now)
			return
		}
	}
	p.block(o, now)
	p.losses.forget()
}

// block begins an episode.
func (p *plateau) block(o *Outcome, now Moment) {
	p.spent = p.spares() || p.usedUp(o, now) || p.mode == following && p.takeBack(now) || o.AtOnce && p.done.answers >= probeLeast // fewer: one alone was refused, and soon again
	p.from, p.was, p.goalWas = max(p.wanted(), p.doubt), p.mode, p.goal
	if p.atLevel() {
		p.was = probing
	}
	p.doubt, p.carried, p.trying, p.losses.trial = 0, 0, 0, lossTrial{}
	p.at, p.failed, p.asked = now, now, max(0, o.Hold)
	p.burst = p.burstRate(now)
	p.weak, p.slow, p.tries, p.blocked, p.before = o.Weak, false, 0, true, false
	if p.lied = false; !o.Weak && !p.spent {
		p.lied, p.of = p.promised(o, now), exhaustedIn(o, p.of)
	}
	p.fence = p.sent
	if !p.spent {
		p.r = max(slowest, min(p.r, p.from*decrease))
	}
	p.tat = max(p.tat, now+interval(p.pace()))
	if o.Hold <= 0 { // a time that is over says nothing
		p.rest(now)
	}
}

// tryAgain rests after a probe that was refused or lost.
func (p *plateau) tryAgain(now Moment) {
	p.tries++
	p.failed, p.inherited = now, false
	p.rest(now)
}

// suspect slows down for a refusal that may be by chance, and goes on. If it
// was not, the next one follows before the pace is back.
func (p *plateau) suspect(now Moment) {
	p.overlook(p.atLevel())
	if p.mode == drain {
		return // slower than what there is already
	}
	if p.inFlight.found(p.late.longer()) {
		p.crowd(now)
		return
	}
	p.from, p.was, p.goalWas = p.wanted(), p.mode, p.goal
	p.doubt = p.from
	p.fence = p.sent
	p.r = max(slowest, p.from*decrease)
	p.tat = max(p.tat, now+interval(p.r))
	p.resume()
}

// rest pauses before the next probe: longer for each that was refused, and for
// as long as the last episode lets expect.
func (p *plateau) rest(now Moment) {
	first := max(pauseLeast, min(2*interval(p.from), pauseMost))
	if !p.weak {
		first = max(first, scale(min(p.lasted, longOutage), pauseLast))
	}
	longest := max(first, pauseShort, (now-p.at)/2)
	pause := scale(min(pauseCap, longest, first<<min(p.tries, pauseDoublings)), 1-pauseJitter/2+pauseJitter*p.draw())
	until := now + pause
	if end := p.at + scale(p.lasted, sameAgain); !p.weak && end > now && end < until {
		until = end // the best guess for the length of this episode is that of the last
	}
	if p.weak {
		until = min(until, p.left+pauseSilent)
	}
	p.pause = max(p.pause, until) // no refusal cuts it short
}

// draw returns a number in [0, 1) that the next request changes.
func (p *plateau) draw() float64 {
	return p.spread(0.7548776662466927) // R. Roberts: the plastic ratio's sequence
}

// spread returns a number in [0, 1). Multiples of an irrational ratio are
// spread evenly.
func (p *plateau) spread(ratio float64) float64 {
	u := p.phase + float64(int64(p.sent%(1<<20)))*ratio
	return u - float64(int64(u))
}

// recover ends the episode: a request that left after the decrease was
// answered.
func (p *plateau) recover(now Moment) {
	p.blocked, p.pause = false, 0
	p.lasted, p.ended = now-p.at, now
	if p.weak {
		p.fence = p.sent // what hangs since the outage tells of nothing that is new
	}
	if p.losses.drops() && !p.slow && p.losses.share == 0 && p.target == 0 { // too few outcomes for a share
		p.resume()
		return
	}
	p.holdCount()
	p.losses.over(now)
	if p.inherited {
		p.recoverLater(now)
		return
	}
	if p.weak && !p.losses.drops() && p.tries == 0 && p.byChance() {
		p.overlook(p.was == probing)
		p.resume()
		return
	}
	recurs := p.recurs()
	p.outage = recurs || p.away()
	switch {
	case p.inVain(now):
		p.climb(max(p.target, p.prior.Top))
		p.restart = p.known == 0 // nothing was refused for its pace
		p.done.begin(now)
	case recurs:
		p.trust.restart()
		p.dear, p.tooFast = p.lasted, p.from
		p.climb(p.between(p.counted(now)))
		p.done.begin(now)
	case p.heldInVain(now):
		p.climb(p.target)
		p.done.begin(now)
		p.comeBack(now)
	case p.oneOff(now):
		p.done.past = past{} // another one soon is no chance
		p.done.begin(now)
		p.climb(margin * min(p.target, p.from))
		p.lasted = p.dear // the next refusal may be short
	case p.spent, p.outage && p.target == 0: // without a plateau, the start goes on
		p.done.begin(now)
		p.resume()
	case p.outage:
		p.done.begin(now)
		p.climb(p.target)
		p.lasted = p.dear // an outage does not tell how long the next refusal lasts
	case p.inFlight.found(p.weak && p.late.longer()):
		p.crowd(now)
	default:
		p.trust.restart()
		p.dear = p.lasted
		p.measure()
		p.slowBeyond = false // the refusal tells of another limit
		known := p.known
		if p.weak && !p.losses.drops() {
			p.done.shorten(p.lones.first) // whoever has a limit had nothing left then
		}
		p.climb(p.learn(now))
		// A refusal of the first few requests may be left over from an earlier
		// run, so the start goes on once.
		p.restart = p.was == startup && p.guesses == 1
		p.tryLosses(known, now)
		p.lones.over()
	}
	if p.lied && p.target > 0 { // else it was not refused for its pace
		p.disbelieve(now)
	}
}

// crowd goes on after an episode that told of what is in flight. What was known of
// the pace was that, so the start goes on.
func (p *plateau) crowd(now Moment) {
	p.done.begin(now)
	p.mode, p.target, p.known, p.agreed, p.reprobe = startup, 0, 0, 0, false
}

// resume climbs back to where the pace was, and learns nothing.
func (p *plateau) resume() {
	switch {
	case p.was == startup:
		p.mode, p.goal = recovering, p.from
		p.restart = true
	case p.was == recovering:
		p.mode, p.goal = recovering, p.goalWas
	case p.was == probing:
		p.mode, p.goal = recovering, max(p.from, p.levels[len(p.levels)-1].rate)
		p.reprobe = true
	default:
		p.mode, p.goal, p.reprobe = recovering, p.from, false
	}
}

// climb makes target the plateau, and goes there.
func (p *plateau) climb(target float64) {
	p.target = max(slowest, min(target, p.most()))
	p.goal, p.mode = p.target, recovering
	p.restart, p.reprobe, p.excused = false, false, 0
	if p.r > p.goal {
		p.r = p.goal
		if p.tat > 0 { // before the first request there is no slot, and Next begins the count
			p.tat = max(p.tat, p.left+interval(p.pace()))
		}
	}
	p.since, p.doubt = 0, 0
}

// plateauOr returns the plateau, or rate if none is known.
func (p *plateau) plateauOr(rate float64) float64 {
	if p.target > 0 {
		return p.target
	}
	return rate
}

// Forgive forgets that a pace was forbidden: a person said that it is settled.
func (p *plateau) Forgive() {
	p.banned = 0
	p.kept = nil // it tells of the ban
}

// forbid bounds the pace below the one at which the account was refused.
func (p *plateau) forbid(now Moment) {
	p.at = now
	p.trust.betray()
	delivered, _ := p.done.rates(p.idle, now)
	limit := max(slowest, banShare*min(p.wanted(), max(delivered, p.burstRate(now), p.wanted()/4)))
	if p.banned == 0 || limit < p.banned {
		p.banned = limit
	}
	p.bannedAt, p.bannedFor, p.bannedAge = now, 0, 0
	p.climb(min(p.plateauOr(limit), limit))
	p.r = min(p.r, limit*decrease)
	p.done.begin(now)
}

// lose records a request that was given up. One of them says nothing, several
// are a refusal. They are as weak as a bare 503: if it lasts, it is an outage.
func (p *plateau) lose(d *Ticket, o *Outcome, now Moment) {
	took := now - d.at
	lost := p.mode != drain && p.late.lost(took)
	switch {
	case d.ID <= p.fence || !lost && !o.Overdue:
	case p.blocked:
		p.tryAgain(now)
	case p.losses.failed(d, p.mode == steady && float64(p.since) > took.Seconds()*p.r):
		if p.losses.trial.Back {
			p.believeTrial()
			return
		}
		p.block(&Outcome{Weak: true, Hold: -1}, now)
		p.losses.began(took, p.from, &p.done, now)
		if p.slow = !lost && took.Seconds() > p.late.ordinary(); p.slow { // who is away answers at once, or not at all
			p.burst = p.done.lately()
		}
	default:
		p.judgeLosses(now)
	}
}

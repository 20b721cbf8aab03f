package law

import "time"

// The constants of episodes: chosen, and judged together by docs/pacing-score.md.
const (
	pauseLeast    = 250 * time.Millisecond // before the first probe of an episode
	pauseMost     = 5 * time.Second        // and at most, when no window is known
	pauseCap      = time.Hour              // before any probe
	pauseSilent   = 90 * time.Second       // after the one before left, where nothing but silence or 503 speaks
	pauseWindow   = 1.0 / 16               // of the window that is known
	pauseLast     = 0.4                    // of the length of the last episode
	pauseJitter   = 0.3                    // 0.85 to 1.15
	sameAgain     = 1.02                   // of the length of the last episode, when this one may be over
	suspicionFade = 0.985                  // for each answer, so that it lasts for about 66
	suspicionMost = 2                      // lone refusals in that time that are taken for chance

	weakOutage = 30 * time.Second // a weak episode that lasts longer is an outage
	longOutage = 10 * time.Minute // and any that lasts longer is, or a quota;
	oddBlock   = time.Minute      // one that lasts longer at a pace that was kept may be,
	oddTimes   = 4                // if it lasts so many times as long as the last one
	banShare   = 0.7              // of the pace that was forbidden
)

// An episode lasts from a refusal to the first answer to a request that left
// after it.
type episode struct {
	blocked   bool          // it is open
	weak      bool          // nothing but bare 503s, or losses
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
}

// refuse begins an episode, or goes on with it. What left before the decrease
// is the same refusal again.
func (p *plateau) refuse(d *Ticket, o *Outcome, now Moment) {
	fresh := d.ID > p.fence
	if !o.Weak {
		p.crowd.refuse(d, fresh && !p.blocked)
	}
	if !fresh {
		return
	}
	if p.blocked {
		p.weak = p.weak && o.Weak
		p.tryAgain(now) // also if a time was told: it was too short
		return
	}
	if o.Weak && p.doubt == 0 && p.suspicion < suspicionMost {
		p.suspect(now)
		return
	}
	p.block(o, now)
	p.loss = loss{}
}

// block begins an episode.
func (p *plateau) block(o *Outcome, now Moment) {
	p.from, p.was, p.goalWas = max(p.pace(), p.doubt), p.mode, p.goal
	p.doubt, p.carried = 0, 0
	p.at, p.failed, p.asked = now, now, max(0, o.Hold)
	p.burst = p.burstRate(now)
	p.weak, p.tries, p.blocked = o.Weak, 0, true
	if p.was == following && !o.Weak {
		p.disbelieve(now)
	}
	p.fence = p.sent
	p.r = max(slowest, min(p.r, p.from*decrease))
	p.tat = max(p.tat, now+interval(p.r))
	if o.Hold <= 0 { // a time that is over says nothing
		p.rest(now)
	}
}

// tryAgain rests after a probe that was refused or lost.
func (p *plateau) tryAgain(now Moment) {
	p.tries++
	p.failed = now
	p.rest(now)
}

// suspect slows down for a refusal that may be by chance, and goes on. If it
// was not, the next one follows before the pace is back.
func (p *plateau) suspect(now Moment) {
	p.suspicion++
	if p.mode == drain {
		return // slower than what there is already
	}
	p.from, p.was, p.goalWas = p.pace(), p.mode, p.goal
	p.doubt = p.from
	p.fence = p.sent
	p.r = max(slowest, p.from*decrease)
	p.tat = max(p.tat, now+interval(p.r))
	p.resume()
}

// rest pauses before the next probe: longer for each that was refused, and for
// as long as a window or the last episode lets expect.
func (p *plateau) rest(now Moment) {
	first := max(pauseLeast, min(2*interval(p.from), pauseMost))
	if !p.weak {
		first = max(first, scale(p.window, pauseWindow), scale(min(p.lasted, longOutage), pauseLast))
	}
	pause := scale(min(pauseCap, first<<min(p.tries, 12)), 1-pauseJitter/2+pauseJitter*p.draw())
	until := now + pause
	if end := p.boxEnds(); end > now {
		until = end
	} else if end := p.at + scale(p.lasted, sameAgain); !p.weak && end > now+first/2 && end < until {
		until = end // the best guess for the end of this episode is the length of the last
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

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// recover ends the episode: a request that left after the decrease was
// answered.
func (p *plateau) recover(now Moment) {
	p.blocked, p.pause = false, 0
	lasted := now - p.at
	odd := p.odd(lasted)
	p.noteBlock(lasted)
	p.ended = now
	if p.weak && !p.drops() && p.tries == 0 && p.suspicion < suspicionMost {
		p.suspicion++
		p.resume()
		return
	}
	switch {
	case odd || p.lasted > longOutage || p.weak && p.lasted > weakOutage:
		p.begin(now)
		p.climb(p.plateauOr(p.from))
	case p.crowded():
		p.mode = steady
		p.begin(now)
	case p.byChance():
		p.forgive(now)
	case p.tooSoon():
		p.climb(chanceLess * p.target) // a count of so few says less
	case p.ebb(now):
		p.begin(now)
	default:
		p.measure()
		p.slowBeyond = false // the refusal tells of another limit
		p.climb(p.learnHushed(now))
		p.wax()
		// A refusal of the first few requests may be left over from an earlier
		// run, so the start goes on once.
		p.restart = p.was == startup && p.guesses == 1
	}
}

// odd reports whether a block of such a length says nothing of the pace: it was
// one that had been kept, and the provider never refused for nearly as long, so
// a quota is used up, or the provider was away.
func (p *plateau) odd(lasted time.Duration) bool {
	return lasted > oddBlock && lasted > p.window && lasted > oddTimes*p.lasted && p.limit() > 0 && p.was != probing && p.was != startup
}

// resume climbs back to where the pace was, and learns nothing.
func (p *plateau) resume() {
	switch {
	case p.was == startup:
		p.mode, p.goal = recovering, p.from
		p.restart = true
	case p.was == recovering:
		p.mode, p.goal = recovering, p.goalWas
	default:
		p.mode, p.goal = recovering, p.from
		p.reprobe = p.was == probing
	}
}

// climb makes target the plateau, and goes there.
func (p *plateau) climb(target float64) {
	p.target = max(slowest, min(target, p.most()))
	p.goal, p.mode = p.target, recovering
	p.restart, p.reprobe, p.tide.surge = false, false, false
	p.r = min(p.r, p.goal)
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
func (p *plateau) Forgive() { p.banned = 0 }

// forbid bounds the pace below the one at which the account was refused.
func (p *plateau) forbid(now Moment) {
	p.at = now
	p.betray()
	delivered, _ := p.delivered(p.idle, now)
	limit := max(slowest, banShare*min(p.pace(), max(delivered, p.burstRate(now), p.pace()/4)))
	if p.banned == 0 || limit < p.banned {
		p.banned = limit
	}
	p.bannedAt, p.bannedFor = now, 0
	p.climb(min(p.plateauOr(limit), limit))
	p.r = min(p.r, limit*decrease)
	p.begin(now)
}

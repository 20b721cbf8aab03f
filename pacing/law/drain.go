package law

import "time"

// The constants of drains: chosen, and judged together with those of late answers.
const (
	drainTarget = 0.97 // of what was delivered,
	lateOff     = 0.5  // less so many times the share of late answers
	drainPace   = 0.7  // of it, until the queue is empty

	slowAgain = 2 * time.Minute // after a drain that helped, in which another one tells that it was the pace
)

// slowAnswer does what the latest answer calls for by how long it took. It
// reports whether a drain is under way.
func (p *plateau) slowAnswer(d *Ticket, now Moment) bool {
	draining := p.mode == drain
	took := 1e-9 * float64(max(quickest, now-d.at))
	if p.late.usual > 0 && p.late.isSlow(took) && p.still.slow(d, now) {
		return draining
	}
	advice := p.late.observe(took, d.inFlight == 1, draining)
	if draining || d.inFlight > 1 { // what left alone waited for no other of ours
		p.heed(advice, now)
	}
	return draining || p.mode == drain
}

// unanswered does what a request of the start calls for that failed after longer
// than answers take. Once there is a pace to lose, it takes several: see lose.
func (p *plateau) unanswered(d *Ticket, now Moment) {
	if p.mode == startup && d.ID > p.fence && !p.blocked {
		p.heed(p.late.unanswered(1e-9*float64(now-d.at)), now)
	}
}

// heed does what late answers call for.
func (p *plateau) heed(advice lateness, now Moment) {
	switch advice {
	case queued, someLate:
		if p.mode != following {
			p.slowDown(advice == queued, now)
		}
	case helped:
		p.quick = now
		if !p.again { // what made them slow may be over
			p.climb(p.preCut)
			p.restart = p.started
			return
		}
		p.slowBeyond = true
		if p.target < min(p.preCut, p.known) { // by chance, perhaps: more was counted, and is tried soon
			p.every = probeLeast
		}
		p.climb(p.target)
	case inVain:
		p.climb(p.preCut)
		p.restart = p.started // nothing has objected to it after all
	case halved:
		p.r, p.target, p.fence = max(slowest, p.r/2), max(slowest, p.target/2), p.sent
	}
}

// slowDown begins a drain: slower than what is delivered in time, until the queue
// that must be somewhere is empty.
func (p *plateau) slowDown(most bool, now Moment) {
	_, busy := p.done.rates(p.idle, now)
	delivered := min(busy, p.pace())
	if delivered == 0 && p.mode == startup {
		// Too few answers for a count, and a pace that was never right: what
		// there is will do.
		delivered = min(p.done.work/(now-p.first).Seconds(), p.pace())
	}
	if delivered == 0 {
		return
	}
	p.trust.restart()
	p.started = p.mode == startup || p.mode == recovering && p.restart
	p.preCut = p.plateauOr(p.pace())
	target := drainTarget * delivered
	if !most {
		target *= 1 - min(0.5, lateOff*p.late.late)
	}
	probed := p.atLevel()
	p.again = probed || p.started || p.quick > 0 && now-p.quick < max(slowAgain, probeLeast*interval(p.pace()))
	switch {
	case probed:
		p.at = now
		target = min(p.proven(), p.preCut)
	case p.mode == recovering && most: // what is delivered is the pace and not the limit
		target = max(target, min(drainTarget*p.goal, p.preCut))
	}
	p.target = max(slowest, target)
	p.r = max(slowest, min(p.r, drainPace*min(delivered, p.target)))
	p.late.drain(most, p.known == 0)
	p.mode, p.fence, p.tooFast = drain, p.sent, 0
	if probed { // otherwise it may be for nothing
		p.every = min(probeMost, 2*p.every)
		p.step = max(stepLeast, p.step/2)
	}
	p.tat = max(p.tat, now+interval(p.r))
}

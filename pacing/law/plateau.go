package law

import (
	"math"
	"time"
)

// The constants of the plateau law. Those without another source are chosen, and
// docs/pacing-score.md shows what happens without the part they belong to.
const (
	decrease  = 0.5  // the pace after an episode begins, as a share
	margin    = 0.98 // how much of an estimated limit is used
	slotLeast = 0.97 // a slot is 0.97 to 1.03 intervals, so that clients do not march in step
	slotSpan  = 0.06
	agrees    = 0.07 // two estimates within it are the same

	startInFlight = 4 // or four seconds of the start, until enough was answered to tell how long an answer takes
)

// A mode is what a plateau is doing.
type mode uint8

const (
	startup    mode = iota // doubling, until anything objects
	recovering             // climbing back to a goal
	steady                 // at the target
	probing                // a little above it, to see whether there is more
	drain                  // slower, until answers are quick again
	following              // as fast as the headers say
)

// A plateau is the law that finds the limit and stays just below it.
//
//	startup ──refused──→ blocked ──answered──→ recovering ──→ steady ⇄ probing
//	   any mode ──refused──↑                        ↑            │
//	                                                └── drain ←──┘ slow answers
//
// A refusal begins an episode: the pace is halved, once, and nothing leaves
// but one request at a time, at growing intervals, until one is answered. What
// was answered between the ends of two episodes is an estimate of the limit,
// whatever the provider counts in: see learn. The plateau is a little below
// it, and is probed from time to time, the more rarely the more often the
// answer was the same. So the refusals are as many as we choose: one for each
// probe.
//
// It has no clock and draws no chance: phase is given, and spreads the slots.
type plateau struct {
	start   float64 // requests per second, or units of their cost, as all rates
	ceiling float64
	phase   float64

	mode    mode
	heard   bool    // the provider said something about the pace,
	heardAt Moment  // and when it last did; 0: not in this run
	kept    *Memory // of the run before: all that is known until a request ends; nil: there was none
	r       float64 // the pace, before the bounds of pace
	goal    float64 // of recovering
	target  float64 // the plateau; 0: none is known
	tat     Moment  // of the next request; zero before the first
	sent    uint64
	fence   uint64        // the id of the latest request sent before the last decrease
	weight  float64       // of the latest request
	flying  int           // requests in flight
	afloat  float64       // and their cost
	left    Moment        // when the latest one left
	settled Moment        // and when the latest one ended
	idle    time.Duration // in all, in which nothing was in flight

	preCut     float64 // the plateau when the drain began
	started    bool    // and whether it was the start that it ended
	slowBeyond bool    // the plateau is where answers became quick again
	again      bool    // the drain is the second one in a short time
	quick      Moment  // when one ended, as answers were quick; 0: none did

	// Parts of the controller, which write the above.
	episode
	probe
	comeback
	estimate // of the limit
	bulletin // of announced limits

	// Detectors. Each has its own state, is told what happened, and says what it
	// makes of it. None of them knows the controller.
	departures departures  // that the pace is what holds requests back
	done       delivered   // what was answered
	late       lateAnswers // that answers take longer for the pace
	still      standstill  // that answers were held up together
	losses     losses      // that requests are dropped for it
	lones      lones       // that a share of them is refused by a bare 503
	inFlight   inFlightCap // that what is in flight is counted
	trust      trust       // that a provider whose owner declared nothing bears more
}

// newPlateau returns a plateau that begins at start, under a ceiling; 0: none is
// declared.
func newPlateau(start, ceiling, phase float64) *plateau {
	p := &plateau{ceiling: ceiling, phase: phase, probe: probe{step: stepFirst, every: probeLeast}}
	if ceiling == 0 {
		p.ceiling, p.trust.Earned = undeclared, Ceiling
	}
	p.start = max(slowest, min(start, p.most()))
	p.r = p.start
	return p
}

// pace returns what is in force: the wanted pace, or less for the last of a budget.
func (p *plateau) pace() float64 {
	if p.spares() {
		return p.thrift
	}
	return p.wanted()
}

// wanted returns the pace within the bounds of the owner, and of a ban that came before.
func (p *plateau) wanted() float64 {
	return min(p.bound(), max(p.r, slowest))
}

func (p *plateau) Rate() float64  { return p.pace() }
func (p *plateau) Most() float64  { return p.most() }
func (p *plateau) Latest() uint64 { return p.sent }

// Known reports whether d was refused in an episode that had begun. A 503
// counts as one more failure all the same: the provider may be down. What fails is known, too, if it is the share
// that fails whatever the pace is.
func (p *plateau) Known(d Ticket, o Outcome) bool {
	if l := &p.losses; l.granted > 0 && !p.blocked && (o.Weak || o.Overdue) {
		return !l.many(l.latest<<1 | 1)
	}
	if o.Signal == Failed { // of which only what is lost can be refused
		return p.losses.drops() && d.ID <= p.fence
	}
	return d.ID <= p.fence || p.blocked && !o.Weak
}

// Next returns when the next request may leave. The first one that is asked
// for waits a whole interval.
func (p *plateau) Next(now Moment) (at Moment, open bool) {
	if p.tat == 0 {
		p.tat, p.first, p.losses.counted = now+interval(p.pace()), now, now
		p.done.cut = p.done.cut || p.heard && p.done.began == 0
		p.done.began, p.done.until = p.done.began+now, p.done.until+now
		p.doubted += now
		if p.ended < 0 { // in a run before
			p.ended += now
		}
		if p.latest < 0 {
			p.latest += now
		}
		if p.blocked { // since a run before
			p.at, p.failed, p.pause = p.at+now, p.failed+now, p.pause+now
			for i := range p.levels {
				p.levels[i].at += now
			}
		}
	}
	if p.thrift > 0 && now >= p.thrifty {
		p.thrift = 0
		p.tat = min(p.tat, now+interval(p.pace()))
	}
	at = max(p.tat, p.pause)
	if p.mode == following && p.endKnown(now) {
		at = max(at, p.short.free)
	}
	if p.flying > 0 && (p.blocked || p.crowdsStart()) {
		// One probe at a time, and few requests of a start, but none is waited for that hangs.
		if hangs := p.left + p.late.patience(); hangs > max(at, now) {
			return hangs, false
		}
	}
	return at, !p.inFlight.capped() || p.flying < p.inFlight.limit()
}

// crowdsStart reports whether another request of a start may be one too many: what is in
// flight may be what answers wait for, and too few came to tell how long one takes.
func (p *plateau) crowdsStart() bool {
	return p.mode == startup && p.late.usual == 0 && float64(p.flying) >= startInFlight*max(1, p.start)
}

// OnSend records that a request leaves, and books its slot. It is bound if it
// left when it might have, and those before it did on average, so that the run
// uses four fifths of the pace. Where something else holds requests back, like
// the number in flight, they leave in bursts.
func (p *plateau) OnSend(now Moment, weight float64) Ticket {
	p.sent++
	p.weight = cost(weight)
	if p.flying == 0 {
		p.idle += now - p.settled
		if missed := now - max(p.tat, p.pause); missed > unaskedLeast && p.tat > 0 && !p.blocked { // nobody asked, or the breaker was open
			p.done.unasked += missed
		}
	}
	p.flying++
	p.afloat += p.weight
	p.left = now
	slot := p.weight * float64(time.Second) / p.pace()
	lag := 0.0
	if now > p.tat {
		lag = min(float64(now-p.tat)/slot, float64(p.flying))
	}
	bound := p.departures.observe(lag)
	if p.sent > 1 {
		slot *= slotLeast + slotSpan*p.spread(math.Phi)
	}
	p.tat = max(p.tat, now) + Moment(slot)
	if p.short != nil {
		p.short.leave(now, p.weight)
	}
	return Ticket{ID: p.sent, at: now, weight: p.weight, leave: leave{int32(p.flying), bound}}
}

// OnResult records the end of an attempt.
func (p *plateau) OnResult(d Ticket, o Outcome, now Moment) (silence time.Duration) {
	p.lacks = 0
	p.flying--
	p.settled = now
	p.afloat -= d.weight
	if o.Signal != Silent && o.Signal != Failed {
		p.heard, p.heardAt = true, now
	}
	switch {
	case o.Refused:
		p.forbid(now)
	case o.Signal == Throttled:
		p.trust.Spoke = p.trust.Spoke || !o.Weak
		if o.Weak { // a lone one is a failure like another, and an episode begins the count
			p.fails(&d)
		} else {
			p.trust.restart()
		}
		p.announce(&d, &o, true, now)
		p.refuse(&d, &o, now)
	case o.Signal == Succeeded || o.Signal == Answered:
		p.answer(&d, &o, now)
	case o.Signal == Failed:
		p.fails(&d)
		p.unanswered(&d, now)
		p.lose(&d, &o, now)
	}
	switch {
	case p.lacks > max(o.Hold, 0):
		return p.lacks
	case o.Hold < 0:
		return o.Hold
	}
	return p.silence(&o, now)
}

// fails counts a failure against what was earned.
func (p *plateau) fails(d *Ticket) {
	if d.ID > p.fence && d.bound {
		p.trust.fail(p.r)
	}
}

// answer records an answer that did not ask for less.
func (p *plateau) answer(d *Ticket, o *Outcome, now Moment) {
	p.done.observe(d.weight, p.idle, now)
	p.suspicion *= suspicionFade
	p.lones.answered()
	p.inFlight.answered(d)
	if d.ID <= p.fence {
		return
	}
	p.losses.answered(d)
	p.judgeLosses(now)
	if p.blocked {
		p.recover(now)
		if p.announce(d, o, false, now); p.spent && p.was == following {
			p.follow(now)
		}
		return
	}
	if len(o.Windows) > 0 {
		p.announce(d, o, false, now)
	}
	if o.Signal == Answered {
		return
	}
	if o.MaxRate > 0 {
		p.trust.vouch(o.MaxRate)
	}
	if p.slowAnswer(d, now) {
		return
	}
	if p.inFlight.capped() {
		p.inFlight.widen(p.calmed(now) == 0)
		if p.known == 0 { // no pace was refused: that of the owner is right
			if d.bound {
				p.earn()
			}
			p.r = min(p.bound(), 2*p.r)
			return
		}
	}
	follows := p.news > 0 && p.follow(now)
	if !d.bound || p.spares() || follows && p.r < p.most() {
		return
	}
	if follows { // the bound is what holds it back
		p.earn()
		return
	}
	was := p.pace()
	p.earn()
	p.advance(d.weight, now)
	if pace := p.pace(); pace > was && p.tat > now { // for the wait that has begun as well
		p.tat += scale(interval(pace)-interval(was), p.weight)
	}
}

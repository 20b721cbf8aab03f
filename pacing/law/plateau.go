package law

import (
	"math"
	"time"
)

// The constants of the plateau law. Those without another source are chosen, and
// docs/pacing-score.md shows what happens without the part they belong to.
const (
	decrease  = 0.5       // the pace after an episode begins, as a share
	margin    = 0.98      // how much of an estimated limit is used
	slowest   = 1.0 / 600 // requests per second; a limit below one in ten minutes is a quota
	slotLeast = 0.97      // a slot is 0.97 to 1.03 intervals, so that clients do not march in step
	slotSpan  = 0.06
	estimates = 4    // episodes that are remembered to confirm a limit
	agrees    = 0.07 // two estimates within it are the same
	enough    = 8    // successes from which a count is an estimate
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
	heard   bool    // the provider said something about the pace
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

	episode
	loss
	knowledge
	box
	probe
	crowd
	chance
	tide tide
	latency
	bulletin
	trust
}

// newPlateau returns a plateau that begins at start, under a ceiling; 0: none is
// declared.
func newPlateau(start, ceiling, phase float64) *plateau {
	p := &plateau{ceiling: ceiling, phase: phase, probe: probe{step: stepFirst, every: probeLeast}}
	if ceiling == 0 {
		p.ceiling, p.earned = undeclared, Ceiling
	}
	p.start = max(slowest, min(start, p.most()))
	p.r = p.start
	return p
}

// pace returns what is in force: the pace within the bounds of the owner, of
// the headers, and of a ban that came before.
func (p *plateau) pace() float64 {
	switch most := p.bound(); {
	case p.r > most:
		return most
	case p.r < slowest:
		return min(slowest, most)
	}
	return p.r
}

func (p *plateau) Rate() float64  { return p.pace() }
func (p *plateau) Most() float64  { return p.most() }
func (p *plateau) Latest() uint64 { return p.sent }

// Known reports whether d was refused in an episode that had begun. A 503
// counts as one more failure all the same: the provider may be down.
func (p *plateau) Known(d Ticket, o Outcome) bool {
	if o.Signal == Failed { // of which only what is lost can be refused
		return p.drops() && d.ID <= p.fence
	}
	return d.ID <= p.fence || p.blocked && !o.Weak
}

// Next returns when the next request may leave. The first one that is asked
// for waits a whole interval.
func (p *plateau) Next(now Moment) (at Moment, open bool) {
	if p.tat == 0 {
		p.tat, p.began, p.first = now+interval(p.pace()), now, now
	}
	at = max(p.tat, p.pause)
	if p.blocked && p.flying > 0 {
		// One probe at a time, but none is waited for that hangs.
		at = max(at, p.left+p.patience())
	}
	if p.mode == following && p.endKnown(now) {
		at = max(at, p.short.free)
	}
	return at, p.places == 0 || p.flying < p.limitInFlight()
}

func interval(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

// OnSend records that a request leaves, and books its slot. It is bound if it
// left within 2/3 of an interval after it might have, so that the run uses at
// least 60 % of the pace.
func (p *plateau) OnSend(now Moment, weight float64) Ticket {
	p.sent++
	p.weight = cost(weight)
	if p.flying == 0 {
		p.idle += now - p.settled
	}
	p.flying++
	p.afloat += p.weight
	p.left = now
	slot := p.weight * float64(time.Second) / p.pace()
	bound := 3*float64(now-p.tat) <= 2*slot
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
	p.flying--
	p.settled = now
	p.afloat -= d.weight
	if o.Signal != Silent && o.Signal != Failed {
		p.heard = true
	}
	switch {
	case o.Refused:
		p.forbid(now)
	case o.Signal == Throttled:
		p.spoke = p.spoke || !o.Weak
		p.object(trustEach)
		p.announce(&d, &o, true, now)
		p.refuse(&d, &o, now)
	case o.Signal == Succeeded || o.Signal == Answered:
		p.answer(&d, &o, now)
	case o.Signal == Failed:
		p.object(trustLost)
		p.unanswered(&d, now)
		p.lose(&d, now)
	}
	if o.Hold < 0 {
		return o.Hold
	}
	return p.silence(&o, now)
}

// answer records an answer that did not ask for less.
func (p *plateau) answer(d *Ticket, o *Outcome, now Moment) {
	p.count(d.weight, p.idle, now)
	p.suspicion *= suspicionFade
	p.losses *= suspicionFade
	p.chance.answered()
	p.crowd.accept(d)
	if d.ID <= p.fence {
		return
	}
	if p.blocked {
		p.recover(now)
		p.announce(d, o, false, now)
		return
	}
	if len(o.Windows) > 0 {
		p.announce(d, o, false, now)
	}
	if o.Signal == Answered {
		return
	}
	if o.MaxRate > 0 {
		p.vouch(o.MaxRate)
	}
	if p.slowAnswer(d, now) || p.places > 0 && p.widen(now) || p.news > 0 && p.follow(now) || !d.bound {
		return
	}
	was := p.pace()
	p.earn(now)
	p.advance(d.weight, now)
	if pace := p.pace(); pace > was && p.tat > now { // for the wait that has begun as well
		p.tat += scale(interval(pace)-interval(was), p.weight)
	}
}

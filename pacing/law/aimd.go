package law

import (
	"time"
)

// slowestInterval is the longest interval of the additive laws. It is well
// above pdpp's 30 s, because providers that grant one request a minute exist.
const slowestInterval = time.Minute

// stepShare is the share of the starting rate that one success adds, so that
// the first success shortens an interval of 1000 ms to 900 ms. The step is
// constant in rate and not in time: a step in time grows with the square of
// the rate, and pdpp met 429 twelve requests after it reached the floor.
const stepShare = 1.0 / 9

// timeStep is the step of the law in the interval: each success takes so much
// off it. It is what pdpp began with.
const timeStep = 100 * time.Millisecond

// A pacer spaces requests: GCRA keeps the spacing, AIMD moves it. Each success
// adds a constant step to the rate, or takes one off the interval, and each
// episode halves the rate. An episode lasts until a request that left after
// the decrease is answered.
//
// GCRA is ITU-T I.371's generic cell rate algorithm: a request conforms at t
// if t ≥ tat − burst, and then tat = max(tat, t) + interval. Idle time earns
// at most burst/interval requests, which is none in production.
type pacer struct {
	off     bool          // the provider is not paced
	start   time.Duration // the interval before anything is learned
	floor   time.Duration // the shortest interval
	slowest time.Duration // the longest interval
	burst   time.Duration
	step    float64 // requests per second that one success adds
	inTime  bool    // a success takes timeStep off the interval instead

	interval time.Duration // in [floor, slowest]
	tat      Moment        // GCRA's theoretical arrival time; zero before the first request
	sent     uint64        // the id of the latest request
	weight   float64       // of the latest request
	fence    uint64        // the id of the latest request sent before the last decrease
	slowed   bool          // a throttle episode is open
	heard    bool          // the provider said something about the pace
}

// newPacer returns a pacer that starts with start, or at floor if that is slower.
func newPacer(start, floor time.Duration) *pacer {
	p := &pacer{start: max(start, floor), floor: floor}
	p.slowest = max(slowestInterval, p.start)
	p.step = stepShare / p.start.Seconds()
	p.interval = p.start
	return p
}

// Next returns when the next request may leave. The first one that is asked
// for waits a whole interval.
func (p *pacer) Next(now Moment) (at Moment, open bool) {
	if p.off {
		return now, true
	}
	if p.tat == 0 {
		p.tat = now + p.interval
	}
	return p.tat - p.burst, true
}

// OnSend records that a request leaves. bound says that the pace is what held
// it back: it left within 2/3 of an interval after it might have, so the run
// uses at least 60 % of the pace.
func (p *pacer) OnSend(now Moment, weight float64) Ticket {
	p.sent++
	p.weight = cost(weight)
	bound := now-p.tat <= p.interval*2/3
	p.tat = max(p.tat, now) + scale(p.interval, p.weight)
	return Ticket{ID: p.sent, at: now, weight: p.weight, leave: leave{bound: bound}}
}

// OnResult moves the pace after the attempt id. Only a success makes it
// faster, and only if the run used the pace it had. What was sent before a
// decrease says nothing about the pace after it.
func (p *pacer) OnResult(d Ticket, o Outcome, now Moment) (silence time.Duration) {
	if p.off || d.ID <= p.fence {
		return o.Hold
	}
	if o.Signal != Silent && o.Signal != Failed {
		p.heard = true
	}
	switch o.Signal {
	case Throttled:
		if p.slowed {
			return o.Hold
		}
		p.slowed, p.fence = true, p.sent
		p.interval = min(2*p.interval, p.slowest)
		p.tat = max(p.tat, now+p.interval)
	case Succeeded:
		p.slowed = false
		if d.bound {
			p.quicken()
		}
	case Answered:
		p.slowed = false
	}
	return o.Hold
}

// quicken makes one step, also for the wait that has begun.
func (p *pacer) quicken() {
	was := p.interval
	next := time.Duration(float64(time.Second) / (float64(time.Second)/float64(was) + p.step))
	if p.inTime {
		next = was - timeStep
	}
	if was-next >= time.Millisecond {
		next = next.Round(time.Millisecond) // the published ramp is in whole milliseconds
	}
	p.interval = max(p.floor, next)
	p.tat += scale(p.interval-was, p.weight)
}

// Rate returns the pace in requests per second; 0 if there is none.
func (p *pacer) Rate() float64 {
	if p.off {
		return 0
	}
	return float64(time.Second) / float64(p.interval)
}

// Most returns the highest pace there can be.
func (p *pacer) Most() float64 { return float64(time.Second) / float64(p.floor) }

// Latest returns the id of the latest request.
func (p *pacer) Latest() uint64 { return p.sent }

// Known reports whether a refusal of d belongs to an episode that has begun.
func (p *pacer) Known(d Ticket, o Outcome) bool {
	return o.Signal == Throttled && d.ID <= p.fence
}

// freshFor is how long a learned interval is believed. (pdpp: a guard of a few
// seconds discarded every value that was ever learned.)
const freshFor = 6 * time.Hour

// learned returns the interval worth keeping: never worse than the start, or
// one bad evening would slow down every run after it.
func (p *pacer) learned() time.Duration { return min(p.interval, p.start) }

// Keep returns what a later process should know.
func (p *pacer) Keep() Memory {
	if !p.heard {
		return Memory{By: p.limitedBy()}
	}
	return Memory{Interval: p.learned(), By: p.limitedBy()}
}

// Restore continues with an interval that is so old, within the limits of
// today.
func (p *pacer) Restore(m Memory, age time.Duration) bool {
	if m.Interval <= 0 || age > freshFor {
		return false
	}
	p.interval, p.heard = min(max(m.Interval, p.floor), p.slowest), true
	return true
}

// limitedBy returns what keeps the pace from being faster.
func (p *pacer) limitedBy() Limit {
	switch {
	case p.interval <= p.floor:
		return Most
	case p.fence > 0:
		return Refusals
	}
	return Rising
}

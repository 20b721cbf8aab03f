package law

import (
	"math"
	"time"
)

// The constants of slow answers: chosen, and judged together. What has no
// unit is a share or a factor.
const (
	latencyLeast  = 11                     // after a drain began
	quickest      = 100 * time.Microsecond // no answer takes less
	slowTimes     = 2                      // the usual latency
	aloneTimes    = 3                      // the first, which may be quick by chance
	slowSpread    = 1                      // times the usual dispersion, which the mean of 21 exceeds once in thousands
	farthest      = 1.5                    // what an answer adds to the dispersion at most
	slowBy        = 50 * time.Millisecond  // and at least so much more
	lateLeast     = 0.06                   // share of answers that are late, over the usual share
	lateSpread    = 0.35                   // and three and a half standard deviations of a share that is such an average
	lateSame      = 0.85                   // of the share: slower has not helped
	lateEMA       = 0.02                   // weight of one answer in that share
	lateTimes     = 4                      // the usual latency
	lateBy        = 500 * time.Millisecond // and at least so much more
	dispersionOf  = 100                    // answers that the dispersion is of, about
	baseDown      = 0.05                   // of the gap, for each answer
	baseUp        = 0.001                  // and upwards
	baseFrozen    = 1.5                    // times: what is slower does not count as usual
	drainedTimes  = 1.3                    // the usual latency
	drainAnswers  = 30                     // after which slowing down has not helped
	drainGain     = 0.9                    // of the typical: what counts as having helped
	patienceLeast = 2 * time.Second        // for a probe that is not answered
	patienceTimes = 8                      // the usual latency, if that is longer
	longerStill   = 2                      // times as long as was waited in vain an answer would have taken
	drainTarget   = 0.97                   // of what was delivered,
	lateOff       = 1.5                    // less so many times the share of late answers
	drainPace     = 0.7                    // of it, until the queue is empty
	halvesMost    = 3                      // of that, if most answers are late at it as well
)

// A latency is what is known of how long answers take, in seconds.
type latency struct {
	recent     recentLatencies // of requests that left after the last decrease
	usual      float64         // geometric mean; 0: not known
	alone      float64         // of the first request that left with nothing else in flight; 0: none did
	dispersion float64         // of the logarithms of single answers around their mean
	seen       int32           // answers that the dispersion is of
	before     float64         // the typical latency when the drain began
	late       float64         // share of answers that take much longer than the typical
	usualLate  float64         // what of it does not come from the pace
	lateBefore float64         // the share when the drain began
	preCut     float64         // the plateau then
	waited     int32           // answers since
	halves     int32           // that may still be tried
	slowBeyond bool            // the plateau is where answers became quick again

	pit
}

// slowAnswer looks at how long an answer took, and slows down if answers take
// much longer than usual. It reports whether a drain is under way.
func (p *plateau) slowAnswer(d *Ticket, now Moment) bool {
	l := &p.latency
	took := 1e-9 * float64(max(quickest, now-d.at))
	log := logOf(took)
	l.recent.add(log)
	if l.alone == 0 && d.inFlight == 1 {
		l.alone = took
	}
	switch {
	case p.mode == drain && p.wading:
		p.climbOut(took, now)
	case l.recent.n < latencyLeast:
	case p.mode == drain:
		p.drained(l.recent.typical().seconds())
		return true
	default:
		p.compare(took, log, now)
	}
	return p.mode == drain
}

// unanswered looks at a request that failed after longer than answers take. A
// provider whose queue is longer than our patience answers nothing at all, and
// a start that only answers slow down would go on against it. An answer would
// have taken longer still, so that it counts as twice that. Once there is a
// pace to lose, it takes several: see lose.
func (p *plateau) unanswered(d *Ticket, now Moment) {
	took := longerStill * 1e-9 * float64(now-d.at)
	l := &p.latency
	if p.mode != startup || d.ID <= p.fence || p.blocked || !l.isSlow(took) {
		return
	}
	log := logOf(took)
	l.recent.add(log)
	if l.recent.n >= latencyLeast {
		p.compare(took, log, now)
	}
}

// compare looks at how the latest answer, and those before it, compare with
// what is usual, and begins a drain if they are slow.
func (p *plateau) compare(took float64, log logarithm, now Moment) {
	l := &p.latency
	mean := l.recent.typical()
	typical := mean.seconds()
	if l.usual == 0 {
		l.usual = typical
		if l.alone > 0 { // the start may be too fast, so that all but the first had to queue
			l.usual = min(typical, aloneTimes*l.alone)
		}
	}
	l.seen = min(l.seen+1, dispersionOf)
	l.dispersion += (min(farthest, math.Abs(log.over(mean))) - l.dispersion) / float64(l.seen)
	switch gap := typical - l.usual; {
	case gap < 0 && l.slowerThan(l.usual, typical):
		l.usual += baseDown * gap
	case typical <= baseFrozen*l.usual:
		l.usual += baseUp * gap
	}
	late := 0.0
	if took > lateBeside(max(l.usual, typical)) {
		late = 1
	}
	l.late += lateEMA * (late - l.late)
	slow := l.slowFor(typical)
	pit := l.late > l.usualLate+lateLeast+lateSpread*math.Sqrt(l.usualLate*(1-l.usualLate))
	if (slow || pit) && l.recent.n == latencies && p.mode != following {
		p.slowDown(typical, !slow, now)
	}
}

// slowDown begins a drain: slower than what is delivered, until the queue that
// must be somewhere is empty.
func (p *plateau) slowDown(typical float64, pit bool, now Moment) {
	_, busy := p.delivered(p.idle, now)
	delivered := min(busy, p.pace())
	if delivered == 0 && p.mode == startup {
		// Too few answers for a count, and a pace that was never right: what
		// there is will do.
		delivered = min(p.work/(now-p.first).Seconds(), p.pace())
	}
	if delivered == 0 {
		return
	}
	p.object(trustEach)
	p.preCut, p.before, p.waited, p.halves = p.plateauOr(p.pace()), typical, 0, 0
	target := drainTarget * delivered
	if pit {
		target *= 1 - min(0.5, lateOff*p.late)
	}
	probed := p.mode == probing || p.mode == recovering && p.reprobe
	switch {
	case probed:
		p.at = now
		target = min(p.proven(), p.preCut)
	case p.mode == recovering && !pit: // what is delivered is the pace and not the limit
		target = max(target, min(drainTarget*p.goal, p.preCut))
	}
	p.target = max(slowest, target)
	p.r = max(slowest, min(p.r, drainPace*delivered))
	if p.wading = pit; pit {
		p.wade(probed)
	} else {
		p.lateBefore = p.lateShare()
	}
	if p.mode == startup { // nothing says that this pace was ever right
		p.halves = halvesMost
	}
	p.mode, p.fence = drain, p.sent
	p.latency.recent.clear()
	p.tooFast = 0
	if !pit || probed { // a drain for late answers alone may be by chance
		p.every = min(probeMost, 2*p.every)
		p.step = max(stepLeast, p.step/2)
	}
	p.tat = max(p.tat, now+interval(p.r))
}

// drained ends a drain when answers are quick again, or when it turns out that
// slowing down does not make them quicker: then they are slow for another
// reason, which is the usual from now on. A limit far below the start looks like
// that as well, for a while: there, a few halves are tried first.
func (p *plateau) drained(typical float64) {
	p.waited++
	l := &p.latency
	quick := typical <= drainedTimes*l.usual
	switch {
	case quick && l.recent.above(l.lateBeyond()) < 2:
		l.late = l.usualLate
		l.slowBeyond = true
		p.climb(p.target)
	case p.waited >= drainAnswers && quick:
		if share := l.lateShare(); share < lateSame*l.lateBefore {
			l.lateBefore = share
			p.deepen(drainPace)
			return
		}
		l.usualLate = max(l.usualLate, l.late)
		l.late = l.usualLate
		p.climb(p.preCut)
	case p.halves > 0 && l.recent.n == latencies && l.isLate(typical):
		p.halves--
		p.deepen(0.5)
		l.recent.clear()
		p.fence = p.sent
	case p.waited >= drainAnswers && typical > drainGain*p.before:
		l.usual = typical
		p.climb(p.preCut)
	case p.waited >= 2*drainAnswers: // as quick as they get
		l.usual = typical
		l.slowBeyond = true
		p.climb(p.target)
	}
}

// deepen goes on with a drain at a share of its pace, for less in the end.
func (p *plateau) deepen(share float64) {
	p.waited, p.lates = 0, 0
	p.r = max(slowest, share*p.r)
	p.target = max(slowest, share*p.target)
}

// patience returns how long an answer may take before it is not waited for.
func (l *latency) patience() time.Duration { return patienceFor(l.usual) }

// patienceFor returns that where so many seconds are usual.
func patienceFor(usual float64) time.Duration {
	return max(patienceLeast, time.Duration(patienceTimes*usual*float64(time.Second)))
}

// lateShare returns the share of the recent answers that took much longer than
// usual.
func (l *latency) lateShare() float64 {
	return float64(l.recent.above(l.lateBeyond())) / float64(max(1, l.recent.n))
}

// isSlow reports whether what took so long took longer than usual.
func (l *latency) isSlow(took float64) bool {
	return took > slowTimes*l.usual && took > l.usual+slowBy.Seconds()
}

// slowFor reports whether a typical latency is slow, and not by the chance of
// latencies that scatter as these do: then most answers are.
func (l *latency) slowFor(typical float64) bool {
	return l.isSlow(typical) && l.slowerThan(typical, l.usual) && 3*l.recent.above(slowTimes*l.usual) >= 2*l.recent.n
}

// slowerThan reports whether typical latencies of a and b differ by more than
// chance makes of latencies that scatter as these do.
func (l *latency) slowerThan(a, b float64) bool {
	return logOf(a).over(logOf(b)) > slowSpread*l.dispersion
}

func (l *latency) isLate(took float64) bool { return took > l.lateBeyond() }

// lateBeyond returns how long an answer takes at most that is not late.
func (l *latency) lateBeyond() float64 { return lateBeside(l.usual) }

// lateBeside returns that where so many seconds are usual.
func lateBeside(usual float64) float64 { return max(lateTimes*usual, usual+lateBy.Seconds()) }

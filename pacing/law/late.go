package law

import (
	"cmp"
	"math"
	"time"
)

// The constants of late answers: chosen, and judged together. What has no unit is
// a share or a factor.
const (
	latencyLeast  = 11                     // answers, of which a mean is worth a look
	aloneTimes    = 3                      // the longest of the first alone, which may be quick by chance
	aloneFirst    = 3                      // of them: a list is often quicker than its details
	aloneSlow     = 5                      // as slow as before, after which slowing down has not helped
	quickest      = 100 * time.Microsecond // no answer takes less
	slowTimes     = 2                      // the usual latency
	slowSpread    = 1                      // times the usual dispersion, which the mean of 21 exceeds once in thousands
	farthest      = 1.5                    // what an answer adds to the dispersion at most
	slowBy        = 50 * time.Millisecond  // and at least so much more
	lateLeast     = 0.06                   // share of answers that are late, over the usual share
	lateSpread    = 0.35                   // and three and a half standard deviations of a share that is such an average
	lateEMA       = 0.02                   // weight of one answer in that share
	lateTimes     = 4                      // the usual latency
	lateBy        = 500 * time.Millisecond // and at least so much more
	dispersionOf  = 100                    // answers that the dispersion is of, about
	baseDown      = 0.05                   // of the gap, for each answer
	baseUp        = 0.001                  // and upwards
	baseFrozen    = 1.5                    // times: what is slower does not count as usual
	drainedTimes  = 1.3                    // the usual latency
	inARow        = 4                      // answers of one kind, which tell what most are
	drainAnswers  = 30                     // after which slowing down has not helped
	drainGain     = 0.9                    // of the typical: what counts as having helped
	patienceLeast = 2 * time.Second        // for a probe that is not answered
	patienceTimes = 8                      // the usual latency, if that is longer
	halvesMost    = 3                      // halves in a drain from a pace of which nothing is known
	lateProof     = 3.0                    // late answers that were to come, if slower has not helped:
	lateMany      = 0.3                    // share of late answers in a drain, from which half its pace is tried
	lateHelped    = 0.25                   // it has, if so many of them did at most
)

// A lateAnswers finds out whether answers take longer because requests leave too
// fast, and whether a drain, which is a slower pace for a while, helps. Latencies
// are in seconds.
//
// If most answers are slow, there is a queue, which has to be emptied. If only a
// share of them is late, it may be because of the pace, or because the latencies
// of the provider scatter. Either way a drain is an experiment: once answers are
// quick, it goes on until enough late ones were to come.
type lateAnswers struct {
	recent     recentLatencies // of requests that left after the last decrease
	usual      float64         // geometric mean; 0: not known
	alone      float64         // the longest of the first few requests that left with nothing else in flight; 0: none did
	lone       int8            // how many those are; in a drain, how many such took as long as before it
	lateRow    int8            // the latest late answers that came in a row, as far as they count
	seen       int32           // answers that the dispersion is of
	dispersion float64         // of the logarithms of single answers around their mean
	late       float64         // share of answers that take much longer than the typical
	usualLate  float64         // what of it does not come from the pace

	// Of a drain:
	before     float64 // the typical latency when it began,
	lateBefore float64 // and the share of late answers
	waited     int32   // answers since
	calm       int32   // of these, those since answers are quick,
	lates      int32   // and late ones among them
	halves     int8    // that may still be tried
	quick      int8    // answers in a row that were as quick as usual, as far as they count
}

// kept returns what a later run should know of it; nothing before enough came.
func (l *lateAnswers) kept() (usual time.Duration, dispersion float64) {
	if l.seen < latencies {
		return 0, 0
	}
	return time.Duration(l.usual * float64(time.Second)), l.dispersion
}

// goOn goes on with what was kept.
func (l *lateAnswers) goOn(usual time.Duration, dispersion float64) {
	if usual >= quickest && usual <= longOutage && dispersion >= 0 && dispersion <= farthest {
		l.usual, l.dispersion, l.seen = usual.Seconds(), dispersion, latencies
	}
}

// A lateness is what late answers call for.
type lateness uint8

const (
	inTime   lateness = iota // nothing new
	queued                   // a drain: most answers are slow
	someLate                 // a drain: a share of them is late
	helped                   // answers are quick again, so the slower pace is the plateau
	inVain                   // slower does not help: the plateau is what it was
	halved                   // it does not help, and may be much too fast
)

// observe takes an answer, to a request that left as the only one in flight or
// not. It says what that calls for, in a drain or before one.
func (l *lateAnswers) observe(took float64, alone, draining bool) lateness {
	log := logOf(took)
	l.recent.add(log)
	if alone && l.usual == 0 && l.lone < aloneFirst {
		l.alone = max(l.alone, took)
		l.lone++
	}
	switch {
	case draining && l.quickAgain(took):
		return helped
	case l.recent.n < latencyLeast:
		return inTime
	case draining:
		return l.drained(took, alone)
	}
	return l.compare(took, log)
}

// unanswered takes a request of a start that nobody answered for so long. A
// provider whose queue is longer than our patience answers nothing at all, and
// a start that only answers slow down would go on against it. An answer would
// have taken longer still, so that it counts as twice that.
func (l *lateAnswers) unanswered(waited float64) lateness {
	if !l.isSlow(2 * waited) {
		return inTime
	}
	return l.observe(2*waited, false, false)
}

// compare looks at how the latest answer, and those before it, compare with
// what is usual.
func (l *lateAnswers) compare(took float64, log logarithm) lateness {
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
	l.lateRow = min(l.lateRow+1, inARow)
	if took > lateBeside(max(l.usual, typical)) {
		late = 1
	} else {
		l.lateRow = 0
	}
	l.late += lateEMA * (late - l.late)
	switch {
	case l.recent.n < latencies:
	case l.slowFor(typical):
		return queued
	case l.late > l.usualLate+lateLeast+lateSpread*math.Sqrt(l.usualLate*(1-l.usualLate)):
		return someLate
	}
	return inTime
}

// drain notes that a drain begins: because most answers are slow, or a share of
// them, and from a pace of which nothing is known, or another.
func (l *lateAnswers) drain(most, unknown bool) {
	l.halves = 0
	if unknown { // nothing says that this pace was ever right
		l.halves = halvesMost
	}
	l.before, l.lateBefore = l.recent.typical().seconds(), l.late
	if most || l.lateRow >= inARow {
		l.lateBefore = 1
	}
	l.begin()
}

// begin begins a drain, or a slower part of one.
func (l *lateAnswers) begin() {
	l.waited, l.calm, l.lates, l.lone, l.quick, l.late = 0, 0, 0, 0, 0, l.usualLate
	l.recent.clear()
}

// drained looks at an answer of a drain. If slowing down does not make answers
// quicker, they are slow for another reason, which is the usual from now on. A limit
// far below the start looks like that as well, for a while: there, a few halves
// are tried first. A request that left alone waited for no other of ours, so a few
// of them are enough to tell.
func (l *lateAnswers) drained(took float64, alone bool) lateness {
	l.waited++
	if alone && took > drainGain*l.before {
		l.lone++
	}
	typical := l.recent.typical().seconds()
	if typical > drainedTimes*max(l.usual, quickest.Seconds()) {
		l.calm, l.lates, l.lateBefore = 0, 0, 1
		switch slow := typical > drainGain*l.before; {
		case l.lone >= aloneSlow:
			l.usual = typical
			return inVain
		case l.halves > 0 && (l.recent.n == latencies && typical > l.lateBeyond() || l.waited >= 2*drainAnswers):
			return l.halve()
		case l.waited >= drainAnswers && slow || l.waited >= 2*drainAnswers: // as quick as they get
			l.usual = typical
			if slow {
				return inVain
			}
			return helped
		}
		return inTime
	}
	l.calm++
	if took > l.lateBeyond() {
		l.lates++
	}
	expected, lates := l.lateBefore*float64(l.calm), float64(l.lates)
	switch {
	case expected < lateProof:
		return inTime
	case lates <= lateHelped*expected:
		return helped
	case l.halves > 0 && lates > lateMany*float64(l.calm):
		return l.halve()
	}
	l.usualLate = max(l.usualLate, l.lateBefore, lates/float64(l.calm))
	l.late = l.usualLate
	return inVain
}

// quickAgain reports whether the latest few answers were all as quick as usual, in a drain for which most were slow.
func (l *lateAnswers) quickAgain(took float64) bool {
	l.quick = min(l.quick+1, inARow)
	if took > drainedTimes*max(l.usual, quickest.Seconds()) {
		l.quick = 0
	}
	return l.quick >= inARow && l.lateBefore == 1
}

// halve tries half the pace.
func (l *lateAnswers) halve() lateness {
	l.halves--
	l.begin()
	return halved
}

// longer reports whether answers take longer now than they did: a server that
// refuses with a 503 because many wait there says nothing about how many may.
func (l *lateAnswers) longer() bool {
	return l.recent.n == 0 || l.recent.typical().seconds() > baseFrozen*l.ordinary()
}

// lost reports whether what failed after so long will never be answered. A
// server whose answers take nearly as long, because it is slow or because many
// wait there, will: see unanswered.
func (l *lateAnswers) lost(took time.Duration) bool {
	if l.recent.n > 0 && 2*l.recent.above(took.Seconds()/patienceTimes) >= l.recent.n {
		return false
	}
	return took >= patienceFor(l.ordinary())
}

// ordinary returns how many seconds an answer takes; 0 if that is not known.
func (l *lateAnswers) ordinary() float64 { return cmp.Or(l.usual, l.alone) }

// patience returns how long an answer may take before it is not waited for.
func (l *lateAnswers) patience() time.Duration { return patienceFor(l.ordinary()) }

// patienceFor returns that where so many seconds are usual.
func patienceFor(usual float64) time.Duration {
	return max(patienceLeast, time.Duration(patienceTimes*usual*float64(time.Second)))
}

// isSlow reports whether what took so long took longer than usual.
func (l *lateAnswers) isSlow(took float64) bool {
	return took > slowTimes*l.usual && took > l.usual+slowBy.Seconds()
}

// slowFor reports whether a typical latency is slow, and not by the chance of
// latencies that scatter as these do: then most answers are.
func (l *lateAnswers) slowFor(typical float64) bool {
	return l.isSlow(typical) && l.slowerThan(typical, l.usual) && 3*l.recent.above(slowTimes*l.usual) >= 2*l.recent.n
}

// slowerThan reports whether typical latencies of a and b differ by more than
// chance makes of latencies that scatter as these do.
func (l *lateAnswers) slowerThan(a, b float64) bool {
	return logOf(a).over(logOf(b)) > slowSpread*l.dispersion
}

// lateBeyond returns how long an answer takes at most that is not late.
func (l *lateAnswers) lateBeyond() float64 { return lateBeside(l.usual) }

// lateBeside returns that where so many seconds are usual.
func lateBeside(usual float64) float64 { return max(lateTimes*usual, usual+lateBy.Seconds()) }

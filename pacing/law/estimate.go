package law

import (
	"math"
	"time"
)

// The constants of what is learned from episodes: chosen, and judged together by
// docs/pacing-score.md.
const (
	windowLeast = 8 * time.Second // a shorter block may be a bucket that fills
	blockShare  = 0.25            // of a count, beyond which it may tell of the block and not of the limit
	confirmed   = 3               // episodes that agreed, which one that finds less does not refute,
	doubted     = 8               // and after which the next probe comes so many times as soon
	fineProbe   = 0.12            // a refused step up to it tells where the limit is
)

// Windows are those that providers count in.
var usualWindows = [...]time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

// An estimate is what is known of the limit.
type estimate struct {
	known  float64       // the limit that is believed; 0: none is
	window time.Duration // that the provider counts in; 0: none was seen
	least  time.Duration // that this can be: the longest block
	banned float64       // not faster than it; 0: nothing was forbidden

	bannedAt  Moment        // when it was; 0: before this run,
	bannedFor time.Duration // for so long, since it was last raised,
	bannedAge time.Duration // and since the account was refused

	first   Moment     // when the first request was asked for
	guesses int32      // episodes in a row without an estimate
	refuted bool       // a plateau that a probe seemed to prove was refused
	lower   int32      // episodes in a row that found less
	agreed  int32      // episodes in a row that found the same
	lone    bool       // the limit is of one count, and nothing was known before
	of      *exhausted // what it follows from; nil: not known
	grown   int8       // answers in a row that told much more of it
}

// measure learns the window from the length of the block: the smallest usual
// one that is not shorter.
func (p *plateau) measure() {
	block := max(p.failed-p.at, p.asked)
	if p.shutsOut() || block < windowLeast || block > longOutage || block < 4*interval(p.from) {
		return
	}
	p.window, p.least = max(p.window, usualWindow(block)), max(p.least, block)
}

// usualWindow returns the shortest usual window that a block fits in; the block
// itself if there is none.
func usualWindow(block time.Duration) time.Duration {
	for _, w := range usualWindows {
		if w >= block {
			return w
		}
	}
	return block
}

// estimated returns the limit as the work answered since the end of the last
// episode says; 0 if that was too little. Between two moments at which the
// provider had nothing left it is exact, whatever it counts in, and if it had
// unused credit on the way it is a lower bound.
func (p *plateau) estimated(now Moment) float64 {
	if p.done.answers < enough {
		return 0 // short counts are added up
	}
	est := p.counted(now)
	p.done.begin(now)
	return est
}

// counted returns the rate of what was answered since the count began.
func (p *plateau) counted(now Moment) float64 {
	span := now - p.done.began
	if p.shutsOut() {
		span = p.at - p.done.began
	}
	span -= min(p.done.unasked, max(0, span-time.Second)) // nor will be asked in the next runs
	if p.window > 0 && p.at-p.done.began <= p.window {
		span = min(span, p.window) // all of it was in one window
	}
	return p.done.counted() / span.Seconds()
}

// learn returns the plateau that the episode which has just ended calls for.
func (p *plateau) learn(now Moment) float64 {
	shutOut := p.shutsOut()
	idle := p.mostlyBlocked(now) && !shutOut
	cut := p.done.cut && p.at-p.done.began < max(p.window, usualWindow(p.lasted)) || // what the run before used of the window is not counted
		float64(p.done.unasked) > blockShare*float64(now-p.done.began) // nor what might have been had
	est := p.estimated(now)
	if p.slow && est > 0 { // in the episode, the provider worked on what was given up
		est = max(est, p.burst)
	}
	known := p.known
	if p.tooFast = 0; est == 0 || shutOut || idle && !p.slow {
		p.tooFast = p.from // the count may say little
	}
	lone := p.lone
	p.lone = known == 0 && !p.weak
	was := p.was
	if cut && est < (1-agrees)*known {
		return p.plateauOr(p.from)
	}
	if p.lasted > longOutage {
		return p.between(est)
	}
	if est == 0 {
		return p.guess(was)
	}
	p.guesses = 0
	safe := min(margin*est, margin*p.from)
	switch {
	case known == 0 || est >= (1+agrees)*known:
		p.known, p.every, p.agreed, p.lower = est, probeLeast, 0, 0
		switch was {
		case probing:
			p.refine()
			return max(safe, p.proven())
		case startup, following:
			if p.window > 0 || shutOut {
				return safe
			}
			// The provider may have had credit that the pace before did not use.
			return max(safe, min(startupShare*p.from, p.burst))
		}
		return safe
	case est > (1-agrees)*known && p.from > (1-agrees)*known:
		return p.confirm(est)
	case was == probing:
		p.refine()
		if lone && p.windowed() {
			p.tooFast = p.known * p.window.Seconds() / p.least.Seconds() // the most that the count can mean
		}
		return p.proven()
	}
	if p.lower++; p.lower == 1 && p.agreed >= confirmed {
		p.every = max(probeLeast, p.every/doubted)
		return max(safe, 0.9*p.from) // one count against several
	}
	p.known, p.every, p.agreed = est, probeLeast, 0
	return safe
}

// mostlyBlocked reports whether much of the count is the block that ended it.
func (p *plateau) mostlyBlocked(now Moment) bool {
	return float64(p.lasted+p.losses.unseen) > blockShare*float64(now-p.done.began)
}

// between returns the plateau after a block that is longer than any window, and
// that came again, or after less work than it lasted. The count says more of the
// block than of the limit, and is too low; the pace that was refused is too high.
// Half way is tried, in ratio.
func (p *plateau) between(est float64) float64 {
	p.known, p.agreed = est, 0
	if p.was == probing {
		p.refine()
		return max(est, p.proven())
	}
	return max(math.Sqrt(est*p.from), p.from/4)
}

// startupShare is how much of the pace that was refused first is tried, when
// the count says less, because the ramp was slow.
const startupShare = 0.8

// burstRate returns the rate of what was answered shortly before now.
func (p *plateau) burstRate(now Moment) float64 {
	span := max(time.Second, min(recent, now-p.first))
	return p.done.within(now-span, now) / span.Seconds()
}

// guessed reports whether the plateau follows from several refusals in a row, between
// which too little was answered to count. One alone may be left over from an earlier run.
func (e *estimate) guessed() bool { return e.known == 0 && e.guesses > 1 }

// guess returns a plateau when there is too little to estimate one from.
func (p *plateau) guess(was mode) float64 {
	p.guesses++
	switch {
	case was == probing:
		p.refine()
		return p.proven()
	case p.guesses == 1 && was == recovering && p.from < (1-agrees)*p.known:
		return p.goalWas // below what is known to work: by chance, or soon again
	case p.guesses > 1:
		p.agreed = 0 // on a limit that is another now
		return 0.5 * p.from
	case was == startup:
		return 0.85 * p.from
	case was == steady:
		return 0.9 * p.from
	}
	return 0.7 * p.from
}

// confirm takes an estimate that agrees with the others.
func (p *plateau) confirm(est float64) float64 {
	p.known = max(est, p.known+(est-p.known)/4) // a count is a lower bound
	p.lower, p.tooFast = 0, 0
	target := margin * p.known
	p.holdAt(target) // where the provider counts in windows, no pace holds for long
	if p.was != probing {
		p.refuted = true
		p.agreed++
		p.every = min(probeMost, 2*p.every)
		return target
	}
	p.refine()
	proven := p.proven()
	if proven > target && (p.refuted || p.weak) {
		return (proven + target) / 2
	}
	return max(proven, target)
}

// refine makes the next probe finer after one was refused, and wait longer. Only
// a fine one tells where the limit is.
func (p *plateau) refine() {
	p.missed++
	gap := p.from/max(p.proven(), slowest) - 1
	p.step = max(stepLeast, min(stepFirst, gap/3))
	p.every = min(probeMost, 2*p.every)
	if gap <= fineProbe {
		p.agreed++
	} else {
		p.tooFast = p.from
	}
}

// windowed reports whether the provider counts in windows: less was granted at the
// level that was refused than when a window was counted, at a faster pace. Who
// grants a rate grants more to who is slower.
func (p *plateau) windowed() bool {
	if p.least == 0 || len(p.levels) != 1 {
		return false
	}
	l := p.levels[0]
	return l.rate*(p.at-l.at).Seconds() < p.known*p.window.Seconds()
}

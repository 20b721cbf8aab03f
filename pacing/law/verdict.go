package law

import (
	"math"
	"slices"
	"time"
)

// The constants of what an episode tells: chosen, and judged together by docs/pacing-score.md.
const (
	suspicionMost = 2 // lone refusals that are taken for chance, for as long as suspicionFade lets them count

	weakOutage   = 30 * time.Second // a weak episode that lasts longer is an outage
	briefTries   = 2                // or one in which so many probes were refused with a bare 503, one by one
	recursMost   = 90 * time.Second // of work, after which no outage recurs
	longOutage   = 10 * time.Minute // and any that lasts longer is, or a quota
	silenceLeast = 10               // requests left out, from which on a silence is long

	vainPaces = 1.4 // two paces so far apart tell whether a block comes from the pace
	vainLeast = 2   // blocks that do not
	vainSoon  = 4   // times as soon, blocks come from the pace all the same,
	vainRow   = 2   // if this many blocks in a row come that soon
)

// byChance reports whether one more lone weak refusal may be: unless there were
// several lately, or at one level of a probe.
func (p *plateau) byChance() bool { return p.suspicion < suspicionMost && p.excused < suspicionMost }

// overlook takes a lone weak refusal for chance. Of a provider that never refused
// with more than a bare 503, it may be the limit all the same, so that a level of a
// probe holds only from there on.
func (p *plateau) overlook(atLevel bool) {
	p.suspicion++
	if atLevel && !p.trust.Spoke {
		p.excused++
	}
}

// away reports whether the episode that has just ended says nothing about the
// pace: the provider was away, or a quota was used up. A block that lasted longer
// than the work before it refutes that.
func (p *plateau) away() bool {
	if p.weak && !p.slow {
		return p.lasted > weakOutage+2*p.losses.unseen || p.was != probing && p.brief()
	}
	again := !p.weak && (p.lasted > p.at-p.done.began || p.dear > longOutage)
	return p.lasted > longOutage && !again
}

// brief reports whether a weak episode was an outage, though a short one: what was lost was lost
// together, or a probe was lost as well, for which a bucket had room.
func (p *plateau) brief() bool {
	if p.losses.drops() {
		return p.tries > 0 || p.losses.together()
	}
	return p.tries >= briefTries
}

// recurs reports whether the episode that has just ended was no outage, though it looked like one, as the one before it
// did: nothing was said, and it came back with the pace, soon, and after work that took less than twice as long as it lasted. A
// limiter that counts what it refuses as well, or shuts out for a while, is quiet until it was left alone for so long.
func (p *plateau) recurs() bool {
	worked := p.at - p.done.began
	return p.outage && p.weak && p.asked == 0 && p.done.answers >= enough && worked <= recursMost && worked < 2*(p.lasted+p.losses.unseen)
}

// oneOff reports whether the episode that has just ended was a long silence that says nothing of the pace: before it,
// more was granted in less time. If the provider counted in spans of that length, it would not have been. The first one is
// taken for one as well, if the provider said how long it lasts and the pace had held for a while: if it is part of a window, the
// next one says so, and costs one refusal.
func (p *plateau) oneOff(now Moment) bool {
	long := p.target > 0 && !p.weak && p.lasted >= max(windowLeast, silenceLeast*interval(p.from)) && p.mostlyBlocked(now)
	held := p.was == recovering || p.was == steady && float64(p.since) >= windowLeast.Seconds()*p.from
	first := held && p.asked > 0 && p.known == 0 && p.guesses == 0 && p.done.past.span == 0
	return long && (first || p.done.refutes(now))
}

// shutsOut reports whether the provider said in the episode that it refuses all for a fixed time who were too fast: of a window
// that a provider counts in, less than its whole length is left when it is used up, unless it says that this is its window. It is
// believed as long as a pace is refused that is faster than what it made known.
func (p *plateau) shutsOut() bool {
	named := slices.ContainsFunc(p.gauges, func(g *gauge) bool { return !g.others && g.told == p.asked })
	return !named && p.asked >= windowLeast && slices.Contains(usualWindows[:], p.asked) && p.at-p.done.began > resetSlack &&
		p.done.answers >= enough && (p.known == 0 || p.from > (1+agrees)*p.known)
}

// A lastBlock is what the next block is compared with.
type lastBlock struct {
	From   float64       `json:"per_second"`     // the pace at which it began,
	Worked time.Duration `json:"worked_ns"`      // after so much time of work
	Vain   int32         `json:"vain,omitempty"` // blocks that came no later where the pace was slower, or no sooner where it was faster,
	Top    float64       `json:"top,omitempty"`  // and the highest pace at one of them
	Soon   int32         `json:"soon,omitempty"` // blocks in a row since then that came much sooner
}

// sane reports whether it can be one that was kept.
func (b *lastBlock) sane() bool {
	return b != nil && sane(b.From) && b.Worked > 0 && b.Worked <= longestCount && b.Vain >= 0 && b.Soon >= 0 && b.Top >= 0 && !math.IsInf(b.Top, 0)
}

// before returns what is known with a block that came after so much more time of work; nil if that refutes it. What is kept is never
// changed, so that it is another one.
func (b lastBlock) before(worked time.Duration) *lastBlock {
	if vainSoon*worked >= b.Worked {
		b.Soon = 0
		return &b
	}
	if b.Soon++; b.Soon < vainRow {
		return &b
	}
	return nil
}

// inVain reports whether blocks like the one that has just ended come whatever the pace is. Who counts refuses a slower pace
// later, in the same ratio, and a faster one sooner. What is nearer to no difference than to that, in ratio, is none. Once that is
// known, two in a row that come much sooner than those did refute it; one alone may, if they come irregularly.
func (p *plateau) inVain(now Moment) bool {
	if p.lasted < windowLeast || !p.mostlyBlocked(now) {
		return false
	}
	last, worked := p.prior, p.at-p.done.began
	if last != nil && last.Vain >= vainLeast {
		last = last.before(worked)
		p.prior = last
	}
	if last == nil {
		p.prior = &lastBlock{From: p.from, Worked: worked}
		return false
	}
	longer, slower := float64(worked)/float64(last.Worked), last.From/p.from
	if slower < vainPaces && slower*vainPaces > 1 {
		return last.Vain >= vainLeast
	}
	p.prior = &lastBlock{From: p.from, Worked: worked}
	if half := math.Sqrt(slower); slower > 1 && longer < half || slower < 1 && longer > half {
		p.prior.Vain, p.prior.Top = last.Vain+1, max(last.Top, p.from, last.From)
		if p.prior.Vain == vainLeast { // so what they made known is nothing
			p.known, p.agreed, p.tooFast, p.dear = 0, 0, 0, 0
		}
	}
	return p.prior.Vain >= vainLeast
}

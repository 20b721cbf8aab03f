package law

import "time"

// The constants of penalty boxes: chosen, and judged together by docs/pacing-score.md.
const (
	boxShare  = 0.85     // of the pace that was held: a count below it denies what was seen,
	boxHold   = 2.1      // if that was held for so many of the windows that the block fits in,
	boxAlike  = 0.1      // and the block before lasted as long, within this share
	boxLess   = 0.05     // of the pace: how much slower the plateau is after a refusal there
	boxNarrow = 1.0 / 16 // of the block: how well its end is known
)

// A box finds out whether a refusal is followed by a block of its own length,
// however little was too much: a penalty box, and not the rest of a window. What
// is answered from one block to the next then says less than what is allowed, so
// it is not the limit. A pace that was held is, and refusals are worth avoiding.
type box struct {
	boxed    bool
	previous time.Duration // how long the block before the last one lasted
	early    time.Duration // after which a probe was refused, the last time that one was; 0: not known
}

// noteBlock notes how long the block lasted that is over.
func (p *plateau) noteBlock(lasted time.Duration) {
	p.previous, p.lasted = p.lasted, lasted
	if p.tries > 0 {
		p.early = p.failed - p.at
	}
	if p.early >= lasted {
		p.early = 0
	}
}

// inBox reports whether blocks are boxes, after one in which est was counted.
//
// A window that the block fits in, and more than two of which went by at a pace
// above est, would have refused. So would a bucket that was as deep. What is
// found is kept while the blocks go on alike, and the plateau holds.
func (p *plateau) inBox(est float64) bool {
	if p.was != probing {
		p.boxed = p.boxed && p.lower < 2 && p.lasted >= windowLeast
		return p.boxed
	}
	shorter := p.boxed && p.lasted < p.previous // its end was looked for
	alike := shorter || (p.lasted-p.previous).Abs() <= scale(p.lasted, boxAlike)
	switch {
	case p.lasted < windowLeast, est > (1-agrees)*p.proven(), p.boxed && !alike:
		p.boxed = false
	case p.boxed || !alike || est >= boxShare*p.proven():
	case p.at-p.above((1+agrees)*est) > scale(usualWindow((p.lasted+p.failed-p.at)/2), boxHold):
		p.boxed, p.window, p.lower = true, 0, 0
	}
	return p.boxed
}

// above returns since when the pace was above rate, in the probe that was refused.
func (p *plateau) above(rate float64) Moment {
	if p.base > rate {
		return p.held
	}
	for _, l := range p.levels {
		if l.rate > rate {
			return l.at
		}
	}
	return p.at
}

// unbox returns the plateau after a box, where est was counted, and the plateau
// itself is a little slower each time that it was refused.
func (p *plateau) unbox(est float64) float64 {
	if p.limit() < est {
		p.limits = []float64{est}
	}
	p.tooFast = 0
	if p.was == probing {
		p.refine()
		return p.proven()
	}
	p.lower++
	return max(margin*est, (1-boxLess*float64(p.lower))*p.from)
}

// boxEnds returns when the next probe of a box is worth sending; a time that is
// over if nobody knows. It is half way from where it was too early to where it
// was not, and if that is too early again, where it was not.
func (p *plateau) boxEnds() Moment {
	switch {
	case !p.boxed || p.tries > 1:
		return 0
	case p.tries == 0 && p.lasted-p.early > scale(p.lasted, boxNarrow):
		return p.at + (p.early+p.lasted)/2
	}
	return p.at + scale(p.lasted, sameAgain)
}

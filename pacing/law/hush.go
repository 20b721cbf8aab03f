package law

import (
	"math"
	"time"
)

// hushLeast is the shortest silence that may be as long whatever the wait is.
const hushLeast = 16 * time.Second

// learnHushed returns the plateau after an episode, for which silence may have
// been asked.
//
// If that was the rest of a window, the count is exact with it. If it is as long
// whatever the wait is, the provider had little to do with that time. Where it
// is half of a count that found more than was known, or more, half way is tried,
// in ratio, between the count with it and without. A window costs nothing but
// the refusal: what it has left is used up sooner. The next count then says the
// same as the one before, which settles it.
func (p *plateau) learnHushed(now Moment) float64 {
	p.done.hushed += min(p.asked, p.lasted)
	known, span, hushed, work := p.limit(), now-p.done.began, p.done.hushed, p.done.counted()
	target := p.learn(now)
	switch {
	case p.asked < hushLeast, hushed < span/2,
		p.guesses > 0, p.agreed > 0, p.limit() < (1+agrees)*known:
		return target
	}
	fast := margin * p.from
	if active := span - hushed; active > 0 {
		fast = min(fast, margin*work/active.Seconds())
	}
	return math.Sqrt(target * max(target, fast))
}

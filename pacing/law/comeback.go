package law

import (
	"cmp"
	"math"
	"time"
)

// The constants of comebacks: chosen, and judged together by docs/pacing-score.md.
const (
	comebackHeld    = time.Minute      // in which a pace has to hold, or two where requests are held back by something else
	comebackGap     = 1.2              // a pace that had held and the plateau, from which on it is missed
	comebackFirst   = 30 * time.Second // after the plateau was lowered, before the pace that had held is tried again,
	comebackTimes   = 3                // so many times as long each time,
	comebackLongest = 6 * time.Hour    // and at most
	comebackCost    = 30               // times what the last refusal cost, before it is tried
	comebackFar     = 4                // as many times slower: limits rarely fall further, so that it is trouble, which may be over
	comebackSure    = 4                // times that wait, for which a pace has to hold before it is short again
	comebackVain    = 3                // refusals of slower paces after which they are not about the pace
	comebackAnswers = 4                // at a level on the way back
)

// A keptComeback is the saved form of one that is due or waits.
type keptComeback struct {
	Held float64       `json:"per_second"`
	Wait time.Duration `json:"wait_ns"`
	For  time.Duration `json:"for_ns"` // of which so long was over, of the time of runs
}

// A comeback is the way back to a pace that had held. What took it away may be over: a provider
// that refused every other request for a minute whatever the pace was, a neighbour who used the limit up,
// or a limit that was lowered for an hour. The slower the pace became, the fewer answers tell that,
// so that it is tried by the clock: half of the way, in ratio, at a time. While it is refused, each time the wait
// for the next one is longer.
type comeback struct {
	held    float64       // the pace that had held; 0: none
	heldFor time.Duration // and for how long
	vain    int32         // refusals of slower paces that had held, too
	returns bool          // the probe that is under way is one
	wait    time.Duration // before it is tried
	latest  Moment        // when it was last; less than nothing: in a run before
}

// hold notes that the pace has held, if it did for long enough.
func (p *plateau) hold() {
	if comebackGap*p.r < p.held || p.since < enough || float64(p.since) < max(comebackHeld, p.dwell()).Seconds()*p.r {
		return
	}
	span := scale(interval(p.r), float64(p.since))
	again := p.r >= p.held && 2*span >= p.heldFor
	if p.r >= p.held || span > 2*p.heldFor { // a slower one that holds no longer is no better
		p.held, p.heldFor, p.vain = p.r, max(span, p.heldFor), 0
	}
	if p.wait == 0 || again || span >= scale(p.wait, comebackSure) { // who counts over minutes grants more for a while
		p.wait = comebackFirst
	}
}

// holdCount notes the rate at which was granted until the episode that has just ended, also if no
// pace held: it rose, or something else held requests back. A long block speaks against it.
func (p *plateau) holdCount() {
	span := p.at - p.done.began - p.done.unasked
	if span >= max(comebackHeld/2, p.dwell(), min(2*comebackHeld, 2*p.lasted)) && p.done.answers >= enough {
		p.holdAt(p.done.counted() / span.Seconds())
	}
}

// holdAt notes a rate that no pace held: see holdCount, and confirm.
func (p *plateau) holdAt(rate float64) {
	if rate > comebackGap*p.held {
		p.held, p.wait = rate, max(p.wait, comebackFirst)
	}
}

// comesBack reports whether it is time to try the pace that had held.
func (p *plateau) comesBack(now Moment) bool {
	held := min(p.held, p.bound())
	if p.target == 0 || p.mode == following || p.returns && p.atLevel() || held <= comebackGap*max(p.r, p.target) ||
		p.losses.trial.From > 0 || p.calmed(now) > 0 {
		return false
	}
	return now-p.lowered() >= max(p.wait, p.comebackCosts())
}

// comebackCosts returns how long it has to be missed to be worth what it costs to be refused
// as the last time. The further the pace has fallen, the less is lost.
func (p *plateau) comebackCosts() time.Duration {
	fell := comebackFar * p.target / p.held
	return scale(p.dear, comebackCost*min(1, fell*fell))
}

// heldInVain reports whether the episode that has just ended tells that a slower pace does not help, and counts it: the
// pace had held for as long as a faster one had to, and was refused all the same. One of them tells nothing.
func (p *plateau) heldInVain(now Moment) bool {
	if p.was != steady || p.weak || p.at-p.done.began < max(comebackHeld, p.dwell()) {
		return false
	}
	p.vain++
	return p.vain >= comebackVain && p.held > comebackGap*p.target && now-p.latest >= p.wait
}

// lowered returns when the plateau was lowered last, or the pace that had held tried.
func (p *plateau) lowered() Moment { return max(p.ended, p.quick, p.latest) }

// comeBack begins to.
func (p *plateau) comeBack(now Moment) {
	p.search()
	if p.agreed == 0 && p.held >= farApart*farApart*p.r { // what is granted from here on tells more
		p.done.begin(now)
	}
	p.wait = min(comebackTimes*max(p.wait, p.comebackCosts()), comebackLongest)
	p.returns, p.latest, p.vain = true, now, 0
	p.raise(now)
}

// halfWay returns the next level on the way back.
func (p *plateau) halfWay() float64 {
	if p.held < farApart*farApart*p.r {
		return p.held
	}
	return math.Sqrt(p.held * p.r)
}

// keptComeback returns what a later run should know of it; nil if nothing is missed.
func (p *plateau) keptComeback() *keptComeback {
	if p.held <= comebackGap*p.plateauOr(p.r) {
		return nil
	}
	return &keptComeback{p.held, p.wait, max(0, cmp.Or(p.lastHeard(), p.settled)-p.lowered())}
}

// goOn goes on with one that was kept. The time between two runs does not count: each of a few
// requests a day would try it.
func (c *comeback) goOn(k *keptComeback) {
	if k == nil || !sane(k.Held) {
		return
	}
	c.held, c.wait = k.Held, max(comebackFirst, min(k.Wait, comebackLongest))
	c.latest = -max(1, min(k.For, comebackLongest))
}

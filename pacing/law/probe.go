package law

import (
	"math"
	"time"
)

// The constants of the ways up.
const (
	doubleLeast  = 8.0              // answers in which the pace doubles at the start,
	doubleTime   = 2 * time.Second  // and the time in which it does
	climbShare   = 0.4              // of the way to the goal, in the interval, for each answer
	stepFirst    = 0.05             // of a probe
	stepLeast    = 0.02             //
	stepMost     = 0.25             //
	stepDoubtful = 1.0              // where one refusal is all that speaks for a limit
	farApart     = 1.5              // a pace that was refused and a plateau
	windowsHeld  = 2.1              // of a level, so that a whole one is among them
	stepGrow     = 1.6              // from one level to the next
	probeTime    = 10 * time.Minute // and the time that is enough,
	probeSure    = 20 * time.Minute // or where several episodes agreed
	dwellLeast   = 30 * time.Second // at a level
	dwellMost    = 400              // or answers, if they take less time
	dwellCount   = 20               // answers at a level
)

// A level is a pace that a probe tried, and since when.
type level struct {
	rate float64
	at   Moment
}

// A probe is the search for more.
type probe struct {
	step    float64
	tooFast float64       // the pace that was refused last; 0: the limit is confirmed
	every   int           // answers between two
	since   int           // answers at the plateau, or at the level
	carried int           // at the plateau, in the run before
	trying  float64       // the level that the run before was at when it ended; 0: none
	tried   time.Duration // for how long it had held
	calm    time.Duration // in which runs before did not look for more
	base    float64
	levels  []level
	missed  int32 // probes refused in a row
	fresh   bool  // what the run before found is believed
	excused int32 // lone weak refusals at the level
	restart bool  // startup goes on when the pace is back
	reprobe bool  // the probe does
}

// advance moves the pace after an answer that used it. The step in the
// interval is a quarter of the gap; as the gap to a plateau shrinks, so does
// it, and at the plateau it is nothing.
func (p *plateau) advance(weight float64, now Moment) {
	if p.comesBack(now) {
		p.comeBack(now)
		return
	}
	switch p.mode {
	case startup:
		p.r *= math.Exp2(min(1/doubleLeast, weight/(max(doubleTime.Seconds(), p.late.ordinary())*p.r)))
		if p.r >= p.bound() {
			p.settleAt(p.bound())
		}
	case recovering:
		gap := 1/p.goal - 1/p.r
		p.r = 1 / (1/p.r + climbShare*gap)
		if math.Abs(p.r-p.goal) <= 0.02*p.goal {
			p.arrive()
		}
	case steady:
		p.since++
		p.hold()
		if p.target < p.bound() && p.due(now) {
			p.search()
			p.raise(now)
		}
	case probing:
		p.since++
		held := now - p.levels[len(p.levels)-1].at
		answers, dwell, most := dwellCount, p.dwell()+p.losses.unseen, stepMost
		if p.late.usual*p.r < 1 { // one is answered before the next leaves: nothing queues
			answers = enough
		}
		switch {
		case p.returns:
			answers, dwell = comebackAnswers, doubleTime
		case p.doubtful():
			answers, dwell, most = enough, max(doubleTime, scale(p.window, windowsHeld)), stepDoubtful
		case p.r > 2*p.base: // the limit is another one now
			most = stepDoubtful
		}
		if p.since < answers || held < dwell && !p.countRefuted() {
			return
		}
		p.target, p.missed = p.r, 0
		if p.r >= p.bound() || p.returns && p.r >= p.held {
			p.settleAt(min(p.r, p.bound()))
			return
		}
		if p.returns {
			p.raise(now)
			return
		}
		if !p.pays(now) {
			p.settleAt(p.r)
			return
		}
		if !p.losses.drops() { // what that costs is seen late
			p.step = min(most, p.step*stepGrow)
		}
		p.raise(now)
	}
}

// doubtful reports whether the limit is of a single count, after a pace that
// nothing was known of: that one refusal may have had another reason.
func (p *plateau) doubtful() bool {
	return p.lone && p.agreed == 0 && !p.losses.drops()
}

// unfounded reports whether the single count of the limit may be of a refusal that had another reason than the pace: the block is
// much of it, and the provider said how long that lasts.
func (p *plateau) unfounded() bool { return p.doubtful() && p.tooFast > 0 && p.asked > 0 }

// countRefuted reports whether more was granted at the level than such a count would grant in the time for which a level is held.
func (p *plateau) countRefuted() bool {
	return p.unfounded() && p.window > 0 && float64(p.since) > windowsHeld*p.window.Seconds()*p.known
}

// dwell returns how long a level is held: longer where a refusal is dear.
func (p *plateau) dwell() time.Duration {
	return max(min(dwellLeast, dwellMost*interval(p.pace())), scale(p.window, windowsHeld), min(p.dear, longOutage))
}

// bound returns the highest pace worth trying. What headers promise and was refused is a limit all the same, but not below the pace
// that was refused: they may tell of other requests.
func (p *plateau) bound() float64 {
	bound := p.most()
	if p.banned > 0 {
		bound = min(bound, p.banned)
	}
	if p.doubtFor > 0 && p.vowed > 0 && p.settled-p.told <= freshest {
		bound = min(bound, max(slowest, p.announcedPace(true), p.vowed))
	}
	return bound
}

func (p *plateau) settleAt(rate float64) {
	p.r, p.target, p.goal, p.mode, p.since = rate, rate, rate, steady, 0
}

// arrive is the end of a climb.
func (p *plateau) arrive() {
	p.doubt = 0
	p.r = p.goal
	switch {
	case p.restart: // it goes beyond the target, which then is no plateau
		p.mode, p.target = startup, 0
	case p.reprobe && len(p.levels) > 0:
		p.mode = probing
		if p.excused > 0 { // it holds from here on
			p.levels[len(p.levels)-1].at, p.since = p.settled, 0
		}
	case p.trying > p.target:
		p.goOnTrying(p.settled)
	default:
		p.mode, p.since, p.carried = steady, p.since+p.carried, 0
	}
	p.restart, p.reprobe = false, false
}

// due reports whether it is time for a probe. A plateau that is far from the pace
// that was refused, and that nothing has confirmed, does not wait for long.
func (p *plateau) due(now Moment) bool {
	if p.losses.trial.From > 0 || !p.pays(now) {
		return false
	}
	if p.agreed == 0 && (p.tooFast > farApart*p.target || p.doubtful()) {
		return p.since >= enough && now-p.ended > p.window
	}
	longest := probeTime
	if p.agreed >= confirmed {
		longest = probeSure
	}
	return p.since >= min(p.every, max(probeLeast, int(longest.Seconds()*p.r))) && p.calmed(now) == 0
}

// atLevel reports whether the pace is at a level of a probe, or on the way back to it.
func (p *plateau) atLevel() bool { return p.mode == probing || p.mode == recovering && p.reprobe }

// search begins a probe, which has no level yet.
func (p *plateau) search() {
	p.base, p.levels, p.mode, p.returns = p.target, p.levels[:0], probing, false
}

// raise begins a level.
func (p *plateau) raise(now Moment) {
	if p.returns {
		p.try(p.halfWay(), now)
		return
	}
	p.try(p.r*(1+p.stride()), now)
}

// stride returns the step to the next level: half way to what was refused, if that
// is known.
func (p *plateau) stride() float64 {
	switch half := math.Sqrt(p.tooFast/p.r) - 1; {
	case half > max(p.step, stepMost):
		return half
	case p.doubtful() && p.window > 0: // a level lasts for long
		return stepDoubtful
	default:
		return max(p.step, half)
	}
}

// pays reports whether a step up is worth the refusal that it may end in, which
// costs what the last one did, and is the more likely the more were refused in a
// row. The time that is left to gain by it is taken to be as long as the one that
// is over. Where the count is unfounded, twice as much may be granted, so that it is worth it once the time since the block is as long
// as that.
func (p *plateau) pays(now Moment) bool {
	cost, gain := scale(p.dear, float64(p.missed+2)/2), p.stride()
	if p.unfounded() {
		gain = max(gain, stepDoubtful)
	}
	return now-p.ended > cost && now-min(p.first, p.ended) > scale(cost, 1/gain)
}

// try begins a level at rate.
func (p *plateau) try(rate float64, now Moment) {
	p.r = min(p.bound(), rate)
	p.levels = append(p.levels, level{p.r, now})
	p.since, p.excused = 0, 0
}

// proven returns the highest pace that was held for long enough before the
// episode.
func (p *plateau) proven() float64 {
	proven := p.base
	for _, l := range p.levels {
		if p.at-p.losses.unseen-l.at >= p.dwell() {
			proven = max(proven, l.rate)
		}
	}
	return proven
}

// most returns the highest pace that the owner, or what was earned, allows.
func (p *plateau) most() float64 {
	if p.trust.Earned > 0 {
		return min(p.ceiling, p.trust.Earned)
	}
	return p.ceiling
}

// earn counts an answer that used the pace. Where the bound that is earned held
// the pace back, and rises, the start goes on, once the pace is back.
func (p *plateau) earn() {
	held := (p.mode == steady || p.mode == recovering) && p.target >= p.trust.Earned
	if !p.trust.earn(p.r) || !held {
		return
	}
	if known := margin * p.known; known > p.target { // a count below what was held for so many answers was wrong
		p.climb(min(known, p.bound()))
		return
	}
	if p.mode == recovering {
		p.restart = true
		return
	}
	p.mode, p.target = startup, 0
}

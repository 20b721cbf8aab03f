package law

import (
	"slices"
	"time"
)

// The constants of a limit that comes and goes: chosen, and judged together by
// docs/pacing-score.md.
const (
	tideEarly = 5 * time.Minute  // before which too little is known of the limit
	tideHint  = 1.07             // times the limit that is believed: a probe that held it found more,
	tideMore  = 8                // if that was so many more requests: a bucket may have kept fewer
	tideLeast = 1.1              // times what the low plateau gives, so that the high one is another
	tideCut   = 2                // times the pace that was refused: a plateau that was so high was cut
	tideTries = 2                // surges in vain, after which it is not believed that it comes and goes;
	tideKnown = 4                // more, so that it can be unlearned
	tideLong  = 10 * time.Second // of an episode: a longer one costs more than a surge brings
	tideFirst = 20 * time.Second // at the low plateau, before the first surge
	tideLess  = 2.0 / 3          // of that, after a surge that was worth it; twice, after one that was not
	tideRest  = 5 * time.Second  // there at least
	tideMost  = 2 * time.Minute  // and at most
	tideStep  = 1.25             // from one level of a surge to the next
	tideDwell = 5 * time.Second  // at a level
	tideCount = 10               // answers at a level
	tideSame  = 0.85             // of the high plateau: a count of so much says that it is still there
	tideSpent = 0.9              // of a pace that used up credit as well
	tideWorth = 150              // answers from ebb to ebb that are worth the refusals at its end
)

// A tide knows two plateaus, where somebody else uses a part of the limit at
// times: the low one is that of always, and the high one is tried again after
// each episode, as early as it turned out to be there.
type tide struct {
	high  float64       // none is known if it is not above the other
	after time.Duration // from an episode to the next surge
	base  float64       // the low plateau, while the other is in force
	at    Moment        // of the last ebb,
	work  float64       // and what had been answered by then
	seen  int32         // probes in a row that held more than there is,
	rare  int32         // and of how many it takes more than one to believe them
	tries int32         // surges in vain that are left
	sure  bool          // high is a count, and not only a pace that was held
	up    bool          // it is in force, or a surge is under way
	surge bool          // one is, in the mode of a probe
}

// wax looks, after an episode, for a high plateau: a probe held a pace for a
// while that is far above what the count says, and was refused in the end.
func (p *plateau) wax() {
	t := &p.tide
	if p.was != probing || p.drops() || p.lasted > tideLong || p.window > 0 || p.boxed || p.limit() == 0 || p.at-p.first < tideEarly {
		return
	}
	if n := len(p.levels); n < 2 || p.levels[n-2].rate < tideHint*p.limit() || p.excess() < tideMore {
		t.seen = 0
		return
	}
	if t.seen++; t.up || t.high > p.target || t.seen <= t.rare {
		return
	}
	t.high, t.sure, t.after, t.tries = p.from, false, tideFirst, tideTries
	t.at, t.work = p.ended, p.work
}

// excess returns how much more a probe sent than the limit that is believed
// would have granted meanwhile.
func (p *plateau) excess() float64 {
	more, end := 0.0, p.at
	for _, l := range slices.Backward(p.levels) {
		more += (l.rate - p.limit()) * (end - l.at).Seconds()
		end = l.at
	}
	return more
}

// regret looks at a plateau that was confirmed, and is given up for one that finds
// only est, in a few answers. Refusals by chance that follow each other look like
// that, and would take long to be probed away, so it is tried as one that comes
// back. What was refused at less than half of it has been cut.
func (p *plateau) regret(known, est float64, answers int) {
	if answers >= chanceEach || p.lower != 2 || p.agreed < confirmed || p.drops() || p.window > 0 ||
		known < tideLeast*est || known > tideCut*p.from {
		return
	}
	p.tide.high, p.tide.sure, p.tide.after, p.tide.tries = margin*known, true, tideFirst, tideTries
	p.tide.at, p.tide.work = p.ended, p.work
}

// ebbing reports whether the low plateau is waited at for the next surge, which
// it begins when it is time.
func (p *plateau) ebbing(now Moment) bool {
	t := &p.tide
	if t.high <= p.target || t.up {
		return false
	}
	if now-p.ended >= t.after {
		t.base, t.up, t.surge = p.target, true, true
		p.search(now)
		p.begin(now)
		p.try(t.high, now)
	}
	return true
}

// surges goes on with a surge after an answer, until the high plateau is
// reached that is counted, or anything objects.
func (p *plateau) surges(now Moment) {
	if p.since < tideCount || now-p.levels[len(p.levels)-1].at < tideDwell {
		return
	}
	if p.r >= p.bound() || p.tide.sure {
		p.tide.high, p.tide.surge = p.r, false
		p.settleAt(p.r)
		return
	}
	p.target = p.r
	p.try(tideStep*p.r, now)
}

// ebb ends an episode at the high plateau, or on the way there. It reports
// false if it was neither, or the refusal is that of a probe.
func (p *plateau) ebb(now Moment) bool {
	t := &p.tide
	surge := t.surge && p.was == probing
	if !t.up || p.was == probing && !surge {
		return false
	}
	est := p.estimate(now)
	switch {
	case surge && len(p.levels) > 1:
		t.high, t.sure = tideSpent*p.from, false
	case est > tideLeast*t.base && (!t.sure || est > tideSame*t.high):
		t.high, t.sure = margin*min(est, p.from), !surge
	default:
		p.recede()
		return true
	}
	p.climb(t.high)
	return true
}

// recede goes back to the low plateau. A surge was worth it if more was answered
// from ebb to ebb than the low plateau alone would have: one that lives on credit
// is paid for by the next time at the low one, so it was not.
func (p *plateau) recede() {
	t := &p.tide
	work, low := p.work-t.work, t.base*(p.at-t.at).Seconds()
	t.up, t.at, t.work = false, p.ended, p.work
	if work >= tideWorth && work >= tideLeast*low {
		t.after = max(tideRest, scale(t.after, tideLess))
		t.tries = min(tideKnown, t.tries+1)
	} else {
		t.after = min(tideMost, 2*t.after)
		if t.tries--; t.tries == 0 {
			t.high, t.seen = 0, 0
			t.rare++
		}
	}
	p.climb(t.base)
}

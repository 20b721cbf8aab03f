package law

// The constants of trials of losses: chosen, and judged together by docs/pacing-score.md.
const (
	lossTrialPace  = 0.6  // of the pace at which requests were lost
	lossTrialLeast = 0.03 // share of lost requests for which there is one: fewer came together, in an outage perhaps,
	lossTrialMost  = 0.4  // and at most: who drops no more has room for that pace
	lossProof      = 6.0  // lost requests that were to come, if the pace makes no difference:
	lossLess       = 0.25 // it does, if at most so many of them were lost,
	lossMore       = 2.0  // or at least so many
)

// A lossTrial finds out whether requests are lost because of the pace. One of several servers that
// is broken loses its share of them at any pace, and a pace that falls for that falls for ever. After an
// episode of losses, the pace is slower for a while. If the same share is lost, it goes back to
// what it was, and if that share is lost there, too, it is usual from then on.
type lossTrial struct {
	From     float64 `json:"from_per_second"`   // the pace at which the episode began; 0: there is no trial
	Start    bool    `json:"start,omitempty"`   // which was one of a start
	Back     bool    `json:"back,omitempty"`    // it is that pace which is tried
	After    float64 `json:"helped_per_second"` // what the episode called for
	Known    float64 `json:"known_per_second"`  // the limit that was believed before
	Share    float64 `json:"share"`             // of what was lost before
	Outcomes int     `json:"outcomes"`
	Faults   int     `json:"faults"`

	began Moment // in this run; 0: in one before, which has waited for the end of what it sent
}

// tryLosses begins a trial, if the episode that has just ended calls for one; known is the limit that was
// believed before it.
func (p *plateau) tryLosses(known float64, now Moment) {
	l := &p.losses
	if !l.drops() || l.share < lossTrialLeast || l.share > lossTrialMost {
		return
	}
	l.trial = lossTrial{Start: p.was == startup, From: p.from, After: p.target, Known: known, Share: l.share, began: now}
	p.climb(min(p.target, lossTrialPace*p.from))
}

// judgeLosses ends a trial, or the first half of it, of which enough is known.
func (p *plateau) judgeLosses(now Moment) {
	l := &p.losses
	t, faults := l.trial, float64(l.trial.Faults)
	known := l.known(t.Outcomes, now-t.began)
	expected := t.Share * known
	if t.From == 0 || expected < lossProof {
		return
	}
	l.trial = lossTrial{}
	switch {
	case faults <= lossLess*expected || faults >= lossMore*expected:
		l.granted = 0
		p.climb(t.After)
	case !t.Back:
		share := max(t.Share, faults/known)
		l.granted, l.often, l.latest = share, share, 0
		l.forget()
		p.known, p.agreed = t.Known, 0
		p.done.begin(now)
		p.climb(t.From)
		l.trial = lossTrial{Start: t.Start, From: t.From, Back: true, After: t.After, Known: t.Known, Share: share, began: now}
	case t.Start: // it goes on
		p.mode, p.target = startup, 0
	}
}

// sane reports whether it can be one that was kept.
func (t *lossTrial) sane() bool {
	return t != nil && sane(t.From) && sane(t.After) && (t.Known == 0 || sane(t.Known)) && t.Share >= lossTrialLeast && t.Share < 1 &&
		t.Outcomes >= 0 && t.Faults >= 0 && t.Faults <= t.Outcomes && t.Outcomes <= countMost
}

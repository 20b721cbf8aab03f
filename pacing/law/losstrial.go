package law

// The constants of trials of losses: chosen, and judged together by docs/pacing-score.md.
const (
	lossTrialPace  = 0.6  // of the pace at which requests were lost
	lossTrialLeast = 0.03 // share of lost requests for which there is one: fewer came together, in an outage perhaps,
	lossTrialMost  = 0.4  // and at most: who drops no more has room for that pace
	lossProof      = 6.0  // lost requests that were to come, if the pace makes no difference:
	lossLess       = 0.25 // share of the expected losses up to which the slower pace helped
	lossMore       = 2.0  // multiple of the expected losses from which the slower pace is still far too fast
	lossLimit      = 4    // losses that can end a half of the trial early
	lossesMost     = 0.9  // share of them by which the slower pace is made slower at most
)

// A lossTrial finds out whether requests are lost because of the pace. One of several servers that
// is broken loses its share of them at any pace, and a pace that falls for that falls for ever. After an
// episode of losses, the pace is slower for a while. If the same share is lost, it goes back to
// what it was, and if that share is lost there, too, it is usual from then on. It also goes back if nothing is
// lost, unless a limit was known there: what was lost may be over. Who grants a rate grants no more of it to who
// asks faster, so that the share that is lost at the two paces tells one from the other.
type lossTrial struct {
	From     float64 `json:"from_per_second"`   // the pace at which the episode began; 0: there is no trial
	Start    bool    `json:"start,omitempty"`   // which was one of a start
	Sure     bool    `json:"sure,omitempty"`    // it was too fast, if nothing is lost at a slower one
	Back     bool    `json:"back,omitempty"`    // it is that pace which is tried
	After    float64 `json:"helped_per_second"` // what the episode called for
	Known    float64 `json:"known_per_second"`  // the limit that was believed before
	Share    float64 `json:"share"`             // of what was lost before
	Slower   float64 `json:"slower,omitempty"`  // and at the slower pace
	Outcomes int     `json:"outcomes"`
	Faults   int     `json:"faults"`

	began Moment // in this run; 0: in one before, which has waited for the end of what it sent
}

// count counts the outcome of d, if it left at the pace that is tried.
func (t *lossTrial) count(d *Ticket, fault bool) {
	if d.at < t.began {
		return
	}
	if t.Outcomes++; fault {
		t.Faults++
	}
}

// tryLosses begins a trial, if the episode that has just ended calls for one; known is the limit that was
// believed before it.
func (p *plateau) tryLosses(known float64, now Moment) {
	l := &p.losses
	lone := p.weak && !l.drops()
	if lone {
		l.share = p.lones.share()
	}
	if l.share < lossTrialLeast || l.share > lossTrialMost {
		return
	}
	t := lossTrial{Start: p.was == startup, Sure: p.slow || known > 0 && p.from > (1-agrees)*known, From: p.from, After: p.target, Known: known, Share: l.share, began: now}
	if lone { // the 503s before have slowed it down, and may be what made a count less
		if t.Sure, t.From = true, max(p.from, p.lones.Top); known < (1-agrees)*t.From {
			t.Known, t.Start = 0, true
		}
	}
	l.trial = t
	p.climb(min(p.target, lossTrialPace*t.From))
}

// judgeLosses ends a trial, or the first half of it, of which enough is known.
func (p *plateau) judgeLosses(now Moment) {
	l := &p.losses
	t, faults := l.trial, float64(l.trial.Faults)
	known := l.known(t.Outcomes, now-t.began)
	expected := t.Share * known
	limited := t.Back && faults >= lossLimit && known >= enough && faults > t.limited()*known
	early := expected < lossProof
	more := early && !t.Back && faults >= max(lossLimit, lossMore*expected) && known >= enough
	if t.From == 0 || early && !limited && !more {
		return
	}
	helped := faults <= lossLess*expected
	switch {
	case more:
		p.tryLess(min(faults/known, lossesMost), now)
	case limited, !t.Back && (helped && t.Sure || faults >= max(lossMore*expected, lossTrialMost*known)):
		p.believeTrial()
	case !t.Back:
		slower := faults / known
		t.Back, t.Slower, t.Outcomes, t.Faults, t.began = true, slower, 0, 0, now
		if l.granted = 0; !helped {
			t.Share = max(t.Share, slower)
			l.granted = t.Share
		}
		l.often, l.latest = l.granted, 0
		p.known, p.agreed = t.Known, 0
		p.done.begin(now)
		p.climb(t.From)
		l.trial = t
	default:
		l.trial = lossTrial{}
		l.forget()
		if helped { // nothing fails any more
			l.granted = 0
		}
		if t.Start { // it goes on
			p.mode, p.target = startup, 0
		}
	}
}

// tryLess goes on with the slower half of a trial, of which a far larger share was lost than before: a limit grants what
// is left of the pace. If it is one, no more is lost at that, so that the trial need not cost as many requests as
// are lost at any pace.
func (p *plateau) tryLess(share float64, now Moment) {
	t, granted := &p.losses.trial, (1-share)*p.target
	t.Share, t.After, t.Outcomes, t.Faults, t.began = share, min(t.After, granted), 0, 0, now
	p.known, p.agreed = granted, 0
	p.climb(margin * granted)
}

// believeTrial ends a trial with the verdict that the pace caused the losses.
func (p *plateau) believeTrial() {
	t := p.losses.trial
	p.losses.granted, p.losses.trial = 0, lossTrial{}
	p.fence = p.sent // losses of requests in flight belong to this trial
	p.climb(t.After)
}

// limited returns the share of losses above which the faster pace exceeds a limit. It lies half way between the share
// that a broken server would cause and the share that a limit would cause.
func (t *lossTrial) limited() float64 {
	limit := t.Share
	if t.Slower > lossLess*t.Share { // the slower pace did not help
		limit = 1 - lossTrialPace*(1-t.Slower)
	}
	return (t.Slower + limit) / 2
}

// sane reports whether it can be one that was kept.
func (t *lossTrial) sane() bool {
	return t != nil && sane(t.From) && sane(t.After) && (t.Known == 0 || sane(t.Known)) && t.Share >= lossTrialLeast && t.Share < 1 &&
		t.Slower >= 0 && t.Slower < 1 && t.Outcomes >= 0 && t.Faults >= 0 && t.Faults <= t.Outcomes && t.Outcomes <= countMost
}

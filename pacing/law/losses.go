package law

import (
	"math"
	"math/bits"
	"time"
)

// The constants of lost requests: chosen, and judged together by
// docs/pacing-score.md.
const (
	faultsOf     = 16        // latest outcomes, in which several faults at once are looked for,
	lossesOf     = 32        // and where the latest episode was one of losses
	faultsEMA    = 1.0 / 256 // weight of one outcome in the usual share
	faultsLeast  = 0.01      // usual share that any provider is granted
	faultsMost   = 0.05      // highest that counts as usual
	hangsLeast   = 4         // answers that are missing, in an outage, in half of the time in which a loss is noticed
	faultsSpread = 3.5       // standard deviations above the usual share in the latest outcomes
)

// A losses finds out whether what is above the limit is dropped, by the provider
// or on the way to it: requests that are never answered. Anybody loses one in
// some thousands, and a provider that is down loses all of them, which is the
// breaker's. Others lose some whatever the pace is, which is learned as the usual
// share. A server with too much to do loses several at once, or has somebody on
// the way give up waiting for it.
type losses struct {
	latest uint32  // outcomes, the latest lowest; a set bit is a fault: lost, or given up on the way
	hangs  bool    // in the latest episode nothing else was answered meanwhile, though as many would have been as hangsLeast
	often  float64 // usual share of faults, where the pace had been the same for long

	// How long it took to notice the one that began the latest episode; 0: that
	// was another kind of episode. Meanwhile the same pace has caused others.
	unseen time.Duration

	counted          Moment // since when, mostly the end of the latest episode:
	outcomes, faults int
	share            float64 // of faults when it began, as far as what became of the requests was known; 0: they were too few
	granted          float64 // share of faults that a slower pace did not lower; 0: none is known
	trial            lossTrial
}

// answered counts the answer to d.
func (l *losses) answered(d *Ticket) {
	l.latest <<= 1
	l.often -= faultsEMA * l.often
	if l.often < l.granted/4 { // it is over
		l.granted = 0
	}
	l.outcomes++
	l.trial.count(d, false)
}

// failed counts a fault: that d was lost, or given up on the way. usual
// says that the pace is not what made it. It reports whether there are more than
// chance makes, which is a refusal.
func (l *losses) failed(d *Ticket, usual bool) bool {
	l.latest = l.latest<<1 | 1
	l.often -= faultsEMA * l.often
	if usual || l.granted > 0 {
		l.often += faultsEMA
	}
	l.outcomes++
	l.faults++
	if l.trial.count(d, true); l.trial.From > 0 {
		return bits.OnesCount16(uint16(l.latest)) > faultsOf/2 // there is more wrong than what is tried
	}
	return l.many(l.latest)
}

// many reports whether more of the latest outcomes are faults than chance makes.
func (l *losses) many(latest uint32) bool {
	share := min(max(faultsMost, l.granted), l.often)
	expected := faultsOf * max(faultsLeast, share)
	if float64(bits.OnesCount16(uint16(latest))) >= 1+expected+faultsSpread*math.Sqrt(expected) {
		return true
	}
	expected = lossesOf * share
	return l.drops() && bits.OnesCount32(latest) >= max(2, int(1+expected+faultsSpread*math.Sqrt(expected)))
}

// shared reports whether a share of the requests fails whatever the pace is, or that is being found out.
func (l *losses) shared() bool { return l.trial.From > 0 || l.granted > 0 }

// began notes that an episode began now, with a loss that was noticed after so long, at a pace.
func (l *losses) began(unseen time.Duration, pace float64, done *delivered, now Moment) {
	l.latest, l.unseen, l.share = 0, unseen, 0
	l.hangs = pace*unseen.Seconds()/2 >= hangsLeast && done.within(now-unseen, now-unseen/2) == 0
	if known := l.known(l.outcomes, now-l.counted); known >= enough {
		l.share = float64(l.faults) / known
	}
}

// over begins the count, as an episode is over.
func (l *losses) over(now Moment) { l.counted, l.outcomes, l.faults = now, 0, 0 }

// known returns to how many of the requests that so many outcomes in a span are of a loss was known: an answer
// is known at once, and that there is none some time later.
func (l *losses) known(outcomes int, span time.Duration) float64 {
	return float64(outcomes) * max(0, 1-float64(l.unseen)/float64(span))
}

// forget notes that another kind of episode began.
func (l *losses) forget() { l.unseen, l.share = 0, 0 }

// together reports whether what was lost was lost in a short time.
func (l *losses) together() bool { return l.hangs || l.share > 0 && l.share < lossTrialLeast }

// drops reports whether the latest episode is one of lost requests.
func (l *losses) drops() bool { return l.unseen > 0 }

package law

import (
	"cmp"
	"time"
)

// The constants of lost requests: chosen, and judged together by
// docs/pacing-score.md. A loss fades like a suspicion.
const (
	lossesFirst = 2.0 // lately, which are not by chance: two in a row, or three of 65 requests;
	lossesMost  = 1.5 // or two of 46, if the last episode was one of them
)

// A loss is what is known of requests that are never answered. Anybody loses
// one in some thousands, and a provider that is down loses all of them, which
// is the breaker's. In between there are those that refuse like this: what is
// above the limit is dropped, by them or on the way to them.
type loss struct {
	losses float64 // lately

	// How long it took to notice the one that began the latest episode; 0: that
	// was another kind of episode. Meanwhile the same pace has caused others.
	unseen time.Duration
}

// lose records a request that was given up. One of them says nothing, several
// are a refusal. They are as weak as a bare 503: if it lasts, it is an outage.
func (p *plateau) lose(d *Ticket, now Moment) {
	took := now - d.at
	if d.ID <= p.fence || !p.isLost(took) {
		return
	}
	if p.blocked {
		p.tryAgain(now)
		return
	}
	most := lossesFirst
	if p.drops() {
		most = lossesMost
	}
	if p.losses++; p.losses < most {
		return
	}
	p.block(&Outcome{Weak: true, Hold: -1}, now)
	p.loss = loss{unseen: took}
}

// drops reports whether the latest episode is one of lost requests.
func (l *loss) drops() bool { return l.unseen > 0 }

// isLost reports whether what failed after so long will never be answered. A
// server whose answers take nearly as long, because it is slow or because many
// wait there, will: see unanswered.
func (p *plateau) isLost(took time.Duration) bool {
	if p.mode == drain || p.recent.n > 0 && 2*p.recent.above(took.Seconds()/patienceTimes) >= p.recent.n {
		return false
	}
	return took >= patienceFor(cmp.Or(p.usual, p.alone))
}

package law

import (
	"cmp"
	"math"
	"time"

	"collect/pacing/response"
)

// The constants of announced limits.
const (
	disbelieved     = time.Minute // after a refusal while following, at least,
	disbelievedFor  = 100         // or the time of so many requests,
	disbelievedMost = 4 * time.Hour
	freshest        = time.Minute // headers older than it are not followed
	shortWindow     = 10 * time.Second
	holdMore        = 0.1 // seconds that a hold is longer than was asked, about
	restLeast       = 0.3 // requests that remain are at least counted as this
)

// A bulletin is what headers last said.
type bulletin struct {
	news    float64       // the pace that uses up what remains until it resets
	told    Moment        // when they said so
	longest time.Duration // the longest reset that was seen: the window
	doubted Moment        // they are not followed before
	strikes int           // refusals while they were
	short   *short        // the strictest of a few seconds; nil: none is known
}

// announce reads the limits that o, the answer to d, announced: the pace that
// spends what remains evenly until the reset, but never more than half above the
// average of the whole window, because what remains at its end says more than
// the window sustains.
func (p *plateau) announce(d *Ticket, o *Outcome, refused bool, now Moment) {
	pace, counted := math.Inf(1), true
	p.spoke = p.spoke || len(o.Windows) > 0
	for i := range o.Windows {
		q := &o.Windows[i]
		if q.Unit != "" || q.Remaining < 0 || q.Reset <= 0 || q.Reset > response.PaceLimit || q.Window > response.PaceLimit {
			continue
		}
		p.longest = max(p.longest, q.Reset, q.Window)
		window := cmp.Or(q.Window, p.longest)
		isShort := q.Limit >= 1 && window <= shortWindow
		if !isShort && p.short != nil && q.Name == p.short.name {
			p.short = nil // it only seemed to be, near its end
		}
		if q.Remaining == 0 && !isShort {
			continue
		}
		rest := max(restLeast, q.Remaining-p.afloat)
		rate := margin * rest / q.Reset.Seconds()
		switch {
		case isShort:
			mine := !refused && q.Limit <= shortMost && p.short.strictest(q, window)
			if mine {
				p.short = p.short.see(d, q, window, now)
			}
			rate = shortPace(q.Limit, window.Seconds(), mine && p.endKnown(now))
		case q.Limit > 0:
			rate = min(rate, response.AboveAverage*q.Limit/window.Seconds())
		}
		pace = min(pace, rate)
		counted = counted && q.Limit > 0 && q.Remaining <= q.Limit
	}
	if math.IsInf(pace, 1) {
		return
	}
	if refused {
		pace = min(pace, p.pace()) // an error never makes it faster
	}
	if !refused && counted {
		p.vouch(pace)
	}
	p.news, p.told = pace, now
}

// shortPace returns the pace for a window of a few seconds. A reset in whole
// seconds says nothing of where in such a window we are, so what remains is of
// no use. If our departures do not tell either, the last request of a window
// costs the wait for its end, rounded up, so it is sent only where that is less
// than what it is worth.
func shortPace(limit, window float64, known bool) float64 {
	if known {
		return margin * limit / window
	}
	slot := window / limit / margin
	last := math.Ceil(slot) + holdMore
	all := limit / max(window, (limit-1)*slot+last)
	return max(margin*(limit-1)/window, min(margin*limit/window, all))
}

// follow moves the pace to what headers said, if that is fresh and they have
// not turned out to be wrong. It reports whether it did.
func (p *plateau) follow(now Moment) bool {
	b := &p.bulletin
	if now-b.told > freshest || now < b.doubted {
		if p.mode == following {
			p.climb(p.r)
		}
		return false
	}
	p.mode = following
	was := p.pace()
	p.r = max(slowest, min(2*p.r, b.news))
	p.target = p.r
	if wait := p.tat - now; wait > 0 {
		p.tat = now + scale(wait, was/p.pace())
	}
	return true
}

// disbelieve stops following headers that did not prevent a refusal.
func (p *plateau) disbelieve(now Moment) {
	b := &p.bulletin
	span := max(disbelieved, disbelievedFor*interval(max(p.from, slowest)))
	b.doubted = now + min(disbelievedMost, span<<min(b.strikes, 12))
	b.strikes++
}

package law

import (
	"time"
)

// The constants of a usage in percent.
const (
	usageLeast = 8    // requests that a look takes at least
	usageNew   = 0.25 // weight of a look against those before
	usageClear = 2    // times what leaves the window meanwhile, a look has to show
	usageLasts = 6    // what is left lasts for this part of the window at least
	usageLow   = 0.25 // share that is left below which a request is taken to cost something before a look shows it,
	usageGuess = 50   // which is at most a percent for so many requests
)

// A usage is a limit that the provider tells in percent: what is used, and not of
// how many. What one request takes of it shows while we send much more than what
// leaves the window, which rolls. Percents are whole, so that a look lasts from one change
// to another: only at a change no part of a percent is hidden.
type usage struct {
	*gauge
	cost  float64 // percent that a request takes; 0: it is not known
	first uint64  // id of the first request,
	began float64 // and what was used then
	used  float64 // what is told to be used

	// The look that has begun.
	looks bool // with a change
	start Moment
	sent  uint64  // id of the request with whose answer it began
	level float64 // what was used then
}

// look takes what the answer to d says.
func (u *usage) look(d *Ticket, used float64, window time.Duration, now Moment) {
	if d.ID <= u.id {
		return // it was overtaken
	}
	was, level, sent := u.used, used, float64(d.ID-u.sent)
	if u.id, u.used = d.ID, used; used < was {
		level++ // it has just fallen below that
	}
	if used == was || u.looks && sent < usageLeast {
		return
	}
	gained, left := level-u.level, used*float64(now-u.start)/float64(window)
	if u.looks && gained > usageClear*left {
		cost := gained / sent
		if u.cost > 0 {
			cost = u.cost + usageNew*(cost-u.cost)
		}
		u.cost = cost
	}
	u.looks, u.start, u.sent, u.level = true, now, d.ID, level
}

// requests returns how many requests what remains is for.
func (u *usage) requests(remaining float64) float64 {
	cost := u.cost
	if sent, gained := float64(u.id-u.first), 100-remaining-u.began; cost == 0 && remaining < 100*usageLow {
		cost = max(1/(usageGuess+sent), (gained-1)/max(1, sent))
	}
	return (remaining - 0.5) / max(cost, 1e-6) // percents are whole
}

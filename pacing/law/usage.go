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
)

// A usage is a limit that the provider tells in percent: what is used, and not of
// how many. What one request takes of it shows while we send much more than what
// leaves the window, which rolls.
type usage struct {
	*gauge
	cost   float64 // percent that a request takes
	looked bool    // which is more than a guess

	// The look that has begun.
	start Moment
	sent  uint64 // id of the request with whose answer it began
	used  float64
}

// look takes what the answer to d says.
func (u *usage) look(d *Ticket, used float64, window time.Duration, now Moment) {
	if d.ID <= u.id {
		return // it was overtaken
	}
	u.id = d.ID
	sent := float64(d.ID - u.sent)
	if !u.looked { // a percent is more than all that was sent, as long as none shows
		u.cost = 1 / (usageLeast + sent)
	}
	if sent < usageLeast || used == u.used {
		return
	}
	gained, left := used-u.used, used*float64(now-u.start)/float64(window)
	if gained > usageClear*left {
		cost := gained / sent
		if u.looked {
			cost = u.cost + usageNew*(cost-u.cost)
		}
		u.cost, u.looked = cost, true
	}
	u.start, u.sent, u.used = now, d.ID, used
}

// Package ceiling holds the bounds that the owner of an account declares: windows
// with a count of requests, and a clamp that lowers the strictest of them while
// the provider refuses too much.
package ceiling

import (
	"math"
	"time"

	"collect/collection"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
	"collect/pacing/response"
)

// Windows are all ceilings of an account.
type Windows []Window

// Allow adds c, or lowers the window of the same length to it.
func (all *Windows) Allow(c collection.Ceiling) {
	for i := range *all {
		if w := &(*all)[i]; w.Per == c.Per {
			w.Count, w.declared = min(w.Count, c.Count), min(w.declared, c.Count)
			return
		}
	}
	*all = append(*all, Window{Count: c.Count, Per: c.Per})
}

// Next returns when a request fits all windows that counts as n, and which of
// them is the last to let it pass; nil if it fits.
func (all Windows) Next(now law.Moment, n int) (at law.Moment, full *Window) {
	for i := range all {
		if w := &all[i]; !w.fits(n) {
			if next := w.Next(now, n); next > now && next > at {
				at, full = next, w
			}
		}
	}
	return at, full
}

// Leave records that a request leaves that counts as n. It reports whether the
// windows must be saved before it does.
func (all Windows) Leave(now law.Moment, n int) (save bool) {
	for i := range all {
		w := &all[i]
		w.add(now, n)
		save = w.spend(n) || save
	}
	return save
}

// Settle gives back what was saved as spent and is not, because the process ends.
func (all Windows) Settle() {
	for i := range all {
		all[i].credit = 0
	}
}

// TakeOver goes on for a process that died a moment ago. What it sent in the
// windows that are too short to be saved is not known, so they count as used up.
func (all Windows) TakeOver(now law.Moment) {
	for i := range all {
		if w := &all[i]; w.Per < longWindow {
			w.expire(now)
			w.add(now, max(0, w.Count-w.total))
		}
	}
}

// Keep returns all windows as they are saved.
func (all Windows) Keep(clock *timeline.Timeline, now law.Moment) (kept []Kept) {
	for i := range all {
		kept = append(kept, all[i].keep(clock, now))
	}
	return kept
}

// Restore continues those of the windows that were saved.
func (all Windows) Restore(kept []Kept, clock *timeline.Timeline, now law.Moment) {
	for i := range all {
		for _, k := range kept {
			if k.Per == all[i].Per {
				all[i].restore(k, clock, now)
				break
			}
		}
	}
}

// Seen returns saved windows to be looked at.
func Seen(kept []Kept, clock *timeline.Timeline, now law.Moment) (all Windows) {
	for _, k := range kept {
		w := Window{Count: k.Count, Per: k.Per}
		w.restore(k, clock, now)
		all = append(all, w)
	}
	return all
}

// Strictest returns the interval of the strictest ceiling that is a pace; 0 if
// there is none.
func Strictest(ceilings []collection.Ceiling) time.Duration {
	var interval time.Duration
	for _, c := range ceilings {
		if c.Per < response.BudgetFrom {
			interval = max(interval, c.Per/time.Duration(c.Count))
		}
	}
	return interval
}

// reservedFrom is the length from which a ceiling leaves a share for people: the
// quotas that people and programs share are counted by the hour or the day.
const reservedFrom = time.Hour

// Reserved returns c without the share that is for people.
func Reserved(c collection.Ceiling, share float64) collection.Ceiling {
	if c.Per >= reservedFrom {
		c.Count = max(1, int(math.Floor(float64(c.Count)*(1-share))))
	}
	return c
}

package meter

import (
	"cmp"
	"time"

	"collect/collection"
	"collect/pacing/response"
)

// lowShare is the share of an announced limit from which little is left. It
// is where clients that slow down ahead of the limit begin to (promptfoo's
// rate limit scheduler: below 10 %).
const lowShare = 0.1

// mostLimits bounds the limits that are told apart. Providers announce a
// handful; one that makes up names is not told of for ever.
const mostLimits = 16

// Announced tells which limits a provider announces for the first time, and which
// are low now. Its zero value has heard of none. It is not safe for concurrent use.
type Announced struct {
	low map[string]bool // by name of the limit: whether it was low when last seen
}

// Note returns the events for the limits of one response: each limit is told
// when it is first seen, and again each time little is left of it.
func (a *Announced) Note(quotas []response.Quota) (events []collection.Event) {
	for _, q := range quotas {
		if !(q.Limit > 0) || q.Remaining < 0 {
			continue
		}
		name := q.Name + "/" + q.Unit
		was, known := a.low[name]
		if !known && len(a.low) >= mostLimits {
			continue
		}
		if a.low == nil {
			a.low = map[string]bool{}
		}
		low := q.Remaining < lowShare*q.Limit
		a.low[name] = low
		if !known {
			events = append(events, collection.Event{Kind: collection.LimitLearned, Limit: describe(q)})
		}
		if low && !was {
			events = append(events, collection.Event{Kind: collection.LimitLow, Limit: describe(q)})
		}
	}
	return events
}

func describe(q response.Quota) *collection.LimitInfo {
	info := &collection.LimitInfo{
		Name: q.Name, Unit: cmp.Or(q.Unit, "requests"), Limit: q.Limit, Remaining: q.Remaining, Ratio: min(1, q.Remaining/q.Limit),
	}
	seconds := func(d time.Duration) *float64 {
		s := d.Seconds()
		return &s
	}
	if q.Window > 0 {
		info.Window = seconds(q.Window)
	}
	if q.Reset >= 0 {
		info.Reset = seconds(q.Reset)
	}
	return info
}

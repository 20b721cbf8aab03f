package gate

import (
	"math"
	"time"

	"collect/collection"
	"collect/pacing/law"
	"collect/pacing/response"
)

// longLimit is the length from which a ceiling leaves a share for people: the
// quotas that people and programs share are counted by the hour or the day.
const longLimit = time.Hour

// usedWords says why nothing is left of an announced limit.
func (g *Gate) usedWords() string {
	if g.share > 0 {
		return "the rest of the quota is reserved for people"
	}
	return "the provider's quota is used up"
}

// reserved returns c without the share that is for people.
func (g *Gate) reserved(c collection.Ceiling) collection.Ceiling {
	if c.Per >= longLimit {
		c.Count = max(1, int(math.Floor(float64(c.Count)*(1-g.share))))
	}
	return c
}

// reach returns how long to leave an announced limit alone, because nothing of it
// is left, or only the share that is for people; a negative time if there is
// more, or nobody said when there will be. Where a share is for people, what is
// in flight is taken as spent. Where none is, that a short limit is used up is the
// law's.
//
// It is a wait, and no news of the pace: nothing is slowed down before it, and
// nothing after it.
func (g *Gate) reach(o *Outcome) time.Duration {
	var wait time.Duration = -1
	for _, q := range o.Windows {
		if q.Unit != "" || q.Limit <= 0 || q.Remaining < 0 || q.Reset < 0 {
			continue
		}
		switch {
		case g.share > 0 && q.Remaining-float64(g.slots.InFlight()) <= g.share*q.Limit,
			g.share == 0 && q.Remaining == 0 && o.Signal == law.Succeeded && o.Hold >= q.Reset && max(q.Window, q.Reset) >= response.BudgetFrom:
			wait = max(wait, q.Reset)
		}
	}
	return wait
}

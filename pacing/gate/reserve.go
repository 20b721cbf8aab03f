package gate

import (
	"math"
	"time"

	"collect/collection"
)

// longLimit is the length from which a ceiling leaves a share for people: the
// quotas that people and programs share are counted by the hour or the day.
const longLimit = time.Hour

const reservedWords = "the rest of the quota is left for people"

// reserved returns c without the share that is for people.
func (g *Gate) reserved(c collection.Ceiling) collection.Ceiling {
	if c.Per >= longLimit {
		c.Count = max(1, int(math.Floor(float64(c.Count)*(1-g.share))))
	}
	return c
}

// reach returns how long to leave what is left of an announced limit, because
// it is the share that is for people; a negative time if there is more, or
// nobody said when there will be. What is in flight is taken as spent.
//
// It is a wait, and no news of the pace: nothing is slowed down before it, and
// nothing after it.
func (g *Gate) reach(o *Outcome) time.Duration {
	var wait time.Duration = -1
	for _, q := range o.Windows {
		if q.Unit != "" || q.Limit <= 0 || q.Remaining < 0 || q.Reset < 0 {
			continue
		}
		if q.Remaining-float64(g.slots.InFlight()) <= g.share*q.Limit {
			wait = max(wait, q.Reset)
		}
	}
	return wait
}

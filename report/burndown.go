package report

import (
	"slices"
	"time"

	"collect/internal/picture"
	"collect/store"
)

// BurndownOf shows how many gaps were owed from a time until now, of which those in owed are
// owed now: it goes back from these, move by move.
func BurndownOf(owed []store.OwnedGap, moves []store.Move, from, now time.Time) picture.Burndown {
	b := picture.Burndown{From: from, To: now}
	count := 0
	for _, gap := range owed {
		if gap.Settled() {
			continue
		}
		count++
		if UrgencyOf(gap) == ByPerson {
			b.Held++
		} else if gap.NotBefore.After(b.NotBefore) {
			b.NotBefore = gap.NotBefore
		}
	}
	for _, m := range slices.Backward(moves) {
		if was := max(0, count-m.Opened+m.Closed); was != count {
			b.Counts = append(b.Counts, picture.Count{At: later(m.At, from), Owed: count})
			count = was
		}
	}
	b.Counts = append(b.Counts, picture.Count{At: from, Owed: count})
	slices.Reverse(b.Counts)
	return b
}

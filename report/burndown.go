package report

import (
	"slices"
	"time"

	"collect/internal/picture"
	"collect/store"
)

// BurndownOf shows how many gaps of connectors were owed from a time until now: it goes back from those
// that are owed now, move by move.
func BurndownOf(all []Status, moves []store.Move, from, now time.Time) picture.Burndown {
	b := picture.Burndown{From: from, To: now}
	count := 0
	for _, s := range all {
		running := s.Running(now)
		for _, gap := range s.Owed {
			if gap.Settled() {
				continue
			}
			count++
			if s.isYours(gap, running) {
				b.Held++
			} else if gap.NotBefore.After(b.NotBefore) {
				b.NotBefore = gap.NotBefore
			}
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

package report

import (
	"strings"

	"collect/internal/words"
	"collect/store"
)

// PrunedWords lists what goes of the past: 1,200 events, 3 runs, about 1.2 MB.
func PrunedWords(n store.Pruned) string {
	var parts []string
	for _, part := range []struct {
		n         int64
		one, many string
	}{{n.Events, "event", "events"}, {n.Runs, "run", "runs"}, {n.Slices, "slice", "slices"}, {n.Quarantined, "rejected record", "rejected records"}} {
		if part.n > 0 {
			parts = append(parts, words.Counted(part.n, part.one, part.many))
		}
	}
	return strings.Join(append(parts, "about "+words.Size(n.Bytes)), ", ")
}

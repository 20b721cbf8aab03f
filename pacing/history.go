package pacing

import (
	"slices"

	"collect/collection"
)

// mostUnsaved bounds the changes of the rate and the announced limits that one
// save brings: what a person asks later is how the pace came to be what it is, not
// every step.
const mostUnsaved = 64

// describe completes a change of the rate with what it is measured by. g.mu is
// held.
func (g *Governor) describe(r *collection.RateInfo) {
	r.Ceiling = g.ceiling
	if r.Learned < r.Previous {
		g.backoff = &collection.BackoffInfo{Reason: r.Reason, At: r.Previous}
	}
	r.LastBackoff = g.backoff
}

// remember keeps a change of the rate, or an announced limit, for the next save. g.mu is held.
func (g *Governor) remember(e collection.Event) {
	if g.save == nil {
		return
	}
	if len(g.unsaved) >= 2*mostUnsaved {
		g.unsaved = append(g.unsaved[:0], g.unsaved[mostUnsaved:]...)
	}
	g.unsaved = append(g.unsaved, e)
}

// history returns events with the changes of the rate, and the limits that were
// announced, since the last save, so that they are stored, and `collect explain`
// can show them.
func (g *Governor) history(events []collection.Event) []collection.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.unsaved[max(0, len(g.unsaved)-mostUnsaved):]
	g.unsaved = nil
	for _, e := range events {
		if e.Rate == nil { // those that have one are in all
			all = append(all, e)
		}
	}
	return slices.Clip(all)
}

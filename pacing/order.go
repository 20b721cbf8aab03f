package pacing

import (
	"context"
	"time"

	"collect/collection"
)

// Obeyed saves and tells what an operator ordered, and what the desk of an account,
// 0 for the first, does already.
func (g *Governor) Obeyed(ctx context.Context, account int, events ...collection.Event) error {
	if g.several != nil {
		g = g.several.all[account]
	}
	g.mu.Lock()
	now, told := time.Now(), make([]collection.Event, len(events))
	for i, e := range events {
		told[i] = g.tell(e, now, "")
	}
	g.unlock()
	return g.keep(ctx, func() []byte { return g.desk.State(false) }, told...)
}

package runner

import (
	"context"
	"errors"
	"fmt"

	"collect/collection"
)

// waits counts the walks of a pass that wait for an account to be accepted again.
type waits struct {
	n    int
	stop *collection.Stop // the first of them; nil: none waits
}

// awaits begins to count the walks of the pass of a stream that wait.
func (r *Runner) awaits(stream string) *waits {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &waits{}
	r.waits[stream] = w
	return w
}

// settleWaits ends the count. The walks that wait are one gap, at the place of the
// pass: they have one cause. A gap that was there is closed if no walk waits any more.
func (r *Runner) settleWaits(ctx context.Context, stream collection.Stream, w *waits) error {
	r.mu.Lock()
	delete(r.waits, stream.Name)
	r.mu.Unlock()
	state, err := r.state(ctx, stream)
	if err != nil {
		return inStream(stream, err)
	}
	at := state.Checkpoint
	switch {
	case w.n > 0:
		stop := *w.stop
		stop.Detail = fmt.Sprintf("%d walks wait for the account", w.n)
		if one, ok := errors.AsType[*collection.OneAccountError](w.stop); ok {
			stop.Detail = fmt.Sprintf("%d walks wait for the account of %s", w.n, one.From)
		}
		return inStream(stream, r.leave(ctx, r.gap(stream, at.Place, at.Cursor, &stop), &stop))
	case state.Left != "":
		_, err = r.save(collection.Slice{Place: at.Place, From: at.Cursor, Next: at.Cursor})
	}
	return inStream(stream, err)
}

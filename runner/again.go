package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"collect/collection"
)

// A page that cannot be read is asked for again after 2, 4 and 8 s. Where one of ten servers is broken,
// four requests in a row meet it once in ten thousand pages.
const (
	againAfter = 2 * time.Second // doubled each time
	mostAgain  = 3
)

// askAgain returns a context for another request for the page that stop is about, if it came and could not
// be read, while others of its stream could, in this run or an earlier one. Mostly that is the fault of a moment
// or of one server, a page of HTML of a balancer, an error inside a 200, a body that was cut; and a walk that
// goes from page to page would end there, and leave the rest of the night to the next run. Where no page of the
// stream was ever read, the connector is wrong first of all, and who wrote it is told at once.
//
// Each page that was asked for again in vain takes one request from those after it, until that helps: where
// none can be read any more, the run waits for 22 s at most before it says so.
func (r *Runner) askAgain(ctx context.Context, c course, stop *collection.Stop) (again context.Context, ok bool) {
	if r.Once || c.once || stop.Reason != collection.BadPage || stop.Status >= http.StatusMultipleChoices ||
		errors.Is(stop, collection.ErrNoProgress) || errors.Is(stop, collection.ErrDeclared) || r.ended() != nil {
		return ctx, false
	}
	if !r.wasRead(ctx, c) || !r.mayHelp(c) {
		return ctx, false
	}
	r.warn(c.at, collection.Warning{Text: fmt.Sprintf("a page of %s could not be read, and is asked for again: %s", c.stream.Name, stop.Detail)})
	return collection.WithNotBefore(ctx, time.Now().Add(againAfter<<c.again)), true
}

// wasRead reports whether a page of the stream of c could ever be read.
func (r *Runner) wasRead(ctx context.Context, c course) bool {
	r.mu.Lock()
	had := c.guard.fresh > 0 || r.streaks[c.stream.Name].had
	r.mu.Unlock()
	if had {
		return true
	}
	stored, err := r.Ledger.Parents(ctx, c.stream.Name, "", 1)
	return err == nil && len(stored) > 0
}

// mayHelp reports whether the next page of c may be asked for again, and counts one that was in vain.
func (r *Runner) mayHelp(c course) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.again+r.vain < mostAgain {
		return true
	}
	r.vain++
	return false
}

// helped notes that a page of c came. Among partitions some may never be readable, so that only one that
// was asked for again tells that this helps.
func (r *Runner) helped(c course) {
	if c.at.Partition == "" || c.again > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.vain = 0
	}
}

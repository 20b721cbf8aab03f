package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"collect/collection"
)

// A walk waits before it asks for a page a second time. That is longer than the fault of a moment, and short
// beside a night. It waits twice as long each time: one of ten servers that is broken answers four times
// in a row once in ten thousand pages.
const (
	againAfter = 2 * time.Second
	againMost  = 3
)

// askAgain returns a context for another request for the page that stop is about, which was asked for
// again some times already, if it could not be read while others of its walk, or of its stream, could: then
// neither the connector nor the account is wrong. Mostly that is the fault of a moment or of one server, a page
// of HTML of a balancer, an error inside a 200, a body that was cut; and a walk that goes from page
// to page would end there, and leave the rest of the night to the next run.
func (r *Runner) askAgain(ctx context.Context, c course, stop *collection.Stop, times int) (again context.Context, ok bool) {
	if times == againMost || stop.Reason != collection.BadPage || stop.Status >= http.StatusMultipleChoices ||
		errors.Is(stop, collection.ErrNoProgress) || errors.Is(stop, collection.ErrDeclared) {
		return ctx, false
	}
	if c.guard.fresh == 0 && !r.hadDetail(c.at) || r.ended() != nil {
		return ctx, false
	}
	r.warn(c.at, collection.Warning{Text: fmt.Sprintf("a page of %s could not be read, and is asked for again: %s", c.stream.Name, stop.Detail)})
	return collection.WithNotBefore(ctx, time.Now().Add(againAfter<<times)), true
}

// hadDetail reports whether another partition of the stream of at could be read in this run.
func (r *Runner) hadDetail(at collection.Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return at.Partition != "" && r.streaks[at.Stream].had
}

package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"collect/collection"
)

// againAfter is how long a walk waits before it asks for a page a second time. It is
// longer than the fault of a moment, and short beside a night.
const againAfter = 2 * time.Second

// onceMore returns a context for a second request for the page that stop is about, if it
// could not be read while others of its walk, or of its stream, could: then neither the
// connector nor the account is wrong. Mostly that is the fault of a moment, a page of HTML
// of a balancer, an error inside a 200, a body that was cut; and a walk that goes from page
// to page would end there, and leave the rest of the night to the next run.
func (r *Runner) onceMore(ctx context.Context, c course, stop *collection.Stop) (again context.Context, ok bool) {
	if stop.Reason != collection.BadPage || stop.Status >= http.StatusMultipleChoices ||
		errors.Is(stop, collection.ErrNoProgress) || errors.Is(stop, collection.ErrDeclared) {
		return ctx, false
	}
	if c.guard.fresh == 0 && !r.hadDetail(c.at) || r.ended() != nil {
		return ctx, false
	}
	r.warn(c.at, collection.Warning{Text: fmt.Sprintf("a page of %s could not be read, and is asked for once more: %s", c.stream.Name, stop.Detail)})
	return collection.WithNotBefore(ctx, time.Now().Add(againAfter)), true
}

// hadDetail reports whether another partition of the stream of at could be read in this run.
func (r *Runner) hadDetail(at collection.Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return at.Partition != "" && r.streaks[at.Stream].had
}

package runner

import (
	"context"
	"fmt"

	"collect/collection"
)

// longestStreak is how many partitions of a stream in a row may be no page at
// all before the rest is left alone. A few bad pieces are faults of these
// pieces; one after the other is a fault of the stream, or of its provider.
const longestStreak = 10

// A streak counts the partitions in a row whose pages cannot be read.
type streak struct {
	n    int
	last *collection.Stop
}

// unread counts a partition that stop ended before it had a page.
func (r *Runner) unread(at collection.Place, stop *collection.Stop) {
	if at.Partition == "" || stop.Reason != collection.BadPage && stop.Reason != collection.SchemaDrift {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streaks[at.Stream]
	r.streaks[at.Stream] = streak{s.n + 1, stop}
}

// read ends the streak of a stream.
func (r *Runner) read(stream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.streaks, stream)
}

// givenUp reports whether the partitions of a stream are left alone.
func (r *Runner) givenUp(stream string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streaks[stream].n >= longestStreak
}

// giveUp leaves one gap for what a pass has not asked for. The next run goes on
// with the pass, and asks for as many once more.
func (r *Runner) giveUp(ctx context.Context, stream collection.Stream, at collection.Cursor) error {
	r.mu.Lock()
	s := r.streaks[stream.Name]
	r.mu.Unlock()
	stop := *s.last
	stop.Detail = fmt.Sprintf("%d partitions in a row could not be read, so the rest was not asked for", s.n)
	if s.last.Detail != "" {
		stop.Detail += ": " + s.last.Detail
	}
	r.warn(r.home(stream), collection.Warning{Text: stream.Name + ": " + stop.Detail})
	return inStream(stream, r.leave(ctx, r.gap(stream, r.home(stream), at, &stop), &stop))
}

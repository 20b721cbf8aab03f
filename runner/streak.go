package runner

import (
	"context"
	"errors"
	"fmt"

	"collect/collection"
)

// longestStreak is how many partitions of a stream in a row may be no page at
// all before the rest is left alone. A few bad pieces are faults of these
// pieces; one after the other is a fault of the stream, or of its provider.
const longestStreak = 10

// longestAbsence is how many may be refused (403) or not there (404), if no record
// of the stream was ever stored. Among details that can be had such answers are
// ordinary, and a rule of the connector may say so; where there is nothing else,
// the path is wrong, or the account is.
const longestAbsence = 30

// A streak counts the partitions in a row whose pages cannot be read, and those
// that are refused or not there.
type streak struct {
	n, absent int
	drifted   int // those that came, and are not what the connector or the store expects
	last      *collection.Stop
	had       bool // a record of the stream came, and is stored or being stored
	over      bool // the rest is left alone, whatever still comes
}

// unread counts a partition that stop ended before it had a page.
func (r *Runner) unread(ctx context.Context, at collection.Place, stop *collection.Stop) error {
	if at.Partition == "" {
		return nil
	}
	r.mu.Lock()
	s := r.streaks[at.Stream]
	switch {
	case stop.Reason == collection.SchemaDrift:
		s.drifted++
	case stop.Reason.OfPage() && !stop.Reason.Permanent():
		s.n++
	case stop.Reason.Withheld() && !stop.Reason.Settled() && !errors.Is(stop, collection.ErrDeclared):
		s.absent++
	default:
		r.mu.Unlock()
		return nil
	}
	s.last, s.over = stop, s.over || s.n+s.drifted >= longestStreak
	r.streaks[at.Stream] = s
	r.mu.Unlock()
	if s.absent != longestAbsence || s.had || s.over {
		return nil
	}
	had, err := r.Ledger.Parents(ctx, at.Stream, "", 1)
	if err != nil || len(had) > 0 {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.streaks[at.Stream]; s.absent >= longestAbsence && !s.had { // else one came meanwhile
		s.over = true
		r.streaks[at.Stream] = s
	}
	return nil
}

// came ends the streak of the stream of a slice that was fetched: the store may have it only
// after others were counted. Whether it is as the store expects is not known yet.
func (r *Runner) came(slice collection.Slice) {
	if slice.Partition == "" || len(slice.Records) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.streaks[slice.Stream]; !s.over {
		r.streaks[slice.Stream] = streak{had: true, drifted: s.drifted, last: s.last}
	}
}

// endStreak ends the streak of a stream of which a slice was stored. What is left alone by
// then stays so: the pass was not planned to its end. r.mu is held.
func (r *Runner) endStreak(stream string) {
	if s := r.streaks[stream]; !s.over {
		r.streaks[stream] = streak{had: s.had}
	}
}

// read forgets the streak of a stream.
func (r *Runner) read(stream string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.streaks, stream)
}

// givenUp reports whether the partitions of a stream are left alone.
func (r *Runner) givenUp(stream string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streaks[stream].over
}

// giveUp leaves one gap for what a pass has not asked for. The next run goes on
// with the pass, and asks for as many once more.
func (r *Runner) giveUp(ctx context.Context, stream collection.Stream, at collection.Cursor) error {
	r.mu.Lock()
	s := r.streaks[stream.Name]
	r.mu.Unlock()
	stop := *s.last
	stop.Detail = fmt.Sprintf("%d partitions in a row could not be read, so the remaining ones were not asked for", s.n+s.drifted+s.absent)
	if s.n+s.drifted == 0 {
		stop.Detail = fmt.Sprintf("all of the first %d partitions were refused or not there (%d), so the remaining ones were not asked for", s.absent, s.last.Status)
	}
	if s.last.Detail != "" {
		stop.Detail += ": " + s.last.Detail
	}
	r.mu.Lock()
	for i, met := range r.stops {
		if met.At.Stream == stream.Name && met.Stop.Reason == stop.Reason {
			r.stops[i].Stands = true
		}
	}
	r.mu.Unlock()
	r.warn(r.home(stream), collection.Warning{Text: stream.Name + ": " + stop.Detail})
	return inStream(stream, r.leave(ctx, r.gap(stream, r.home(stream), at, &stop), &stop))
}

package runner

import (
	"cmp"
	"context"

	"collect/collection"
)

// Bounds of what a walk has fetched and not yet stored. A provider that is slower
// than the disk never comes near them. A process that is killed has at most
// mostUnder slices of a walk to fetch again, beside those in flight.
const (
	mostUnder = 8       // slices
	mostBytes = 4 << 20 // of their records; a larger slice is alone
)

// landings are the slices of one walk that are being made durable.
type landings struct {
	r     *Runner
	drop  context.CancelFunc // ends the fetch of what stands behind them
	last  *landing           // the newest
	under []*landing         // those that may be under way, the oldest first
	bytes int                // of their records
}

// A landing is a slice that is being made durable, behind all those before it.
type landing struct {
	*pending
	bytes   int
	known   chan struct{}     // closed when the rest is known, and told
	reached collection.Cursor // the checkpoint
	err     error             // why the walk does not go on from there
}

// landings returns those of a walk that stands at a checkpoint: none. It calls drop
// when a slice was not stored, so that what is fetched behind it is of no use.
func (r *Runner) landings(checkpoint collection.Cursor, drop context.CancelFunc) *landings {
	known := make(chan struct{})
	close(known)
	return &landings{r: r, drop: drop, last: &landing{known: known, reached: checkpoint}}
}

// room returns when there is room for a slice, or the error of one before it.
func (l *landings) room(slice collection.Slice) error {
	bytes := sizeOf(slice)
	for len(l.under) > 0 {
		oldest := l.under[0]
		if len(l.under) < mostUnder && l.bytes+bytes <= mostBytes {
			select {
			case <-oldest.known:
			default:
				return nil
			}
		}
		<-oldest.known
		if oldest.err != nil {
			return oldest.err
		}
		l.under, l.bytes = l.under[1:], l.bytes-oldest.bytes
	}
	return nil
}

// add has a slice stored behind those before it, and does not wait for it. It calls
// taken, which may be nil, when its transaction begins.
func (l *landings) add(slice collection.Slice, taken func()) {
	before := l.last
	under := l.r.commits.begin(&pending{slice: slice, behind: before.pending, taken: taken})
	now := &landing{pending: under, bytes: sizeOf(slice), known: make(chan struct{})}
	l.last, l.under, l.bytes = now, append(l.under, now), l.bytes+now.bytes
	go func() {
		defer close(now.known)
		<-now.done
		<-before.known
		if now.reached, now.err = before.reached, before.err; now.err == nil {
			l.tell(now)
		}
		if now.err != nil {
			l.drop()
		}
		now.slice.Records, now.slice.Rejected = nil, nil // they are in the store, or fetched again
	}()
}

// tell counts a slice and tells of it, and notes where the walk is then.
func (l *landings) tell(now *landing) {
	done, err := l.r.committed(now.pending)
	if err != nil {
		now.err = err
		return
	}
	now.reached = done.Next
	if now.reached != now.slice.Next {
		now.err = refuted(done.Evidence)
		return
	}
	if now.reached.Done {
		for _, warning := range done.Evidence.Warnings() {
			l.r.warn(now.slice.Place, warning)
		}
		l.r.noteDoubt(now.slice.Place, done.Evidence)
	}
}

// all returns, when it is known of each slice what became of it, the checkpoint and
// the error of the first one that has one, or else err.
func (l *landings) all(err error) (collection.Cursor, error) {
	<-l.last.known
	return l.last.reached, cmp.Or(l.last.err, err)
}

// sizeOf returns the bytes of the records of a slice.
func sizeOf(slice collection.Slice) (n int) {
	for i := range slice.Records {
		n += len(slice.Records[i].Data)
	}
	return n
}

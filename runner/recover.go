package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"collect/collection"
	"collect/connectors"
)

// gapsPage is how many gaps are leased in one read: transport, never a bound
// on the work.
const gapsPage = 64

// recover fills the gaps of streams that are due, page after page, until none
// is left or the run ends. A gap is tried once in a run.
func (r *Runner) recover(ctx context.Context, streams []string) error {
	for r.ended() == nil {
		streams = slices.DeleteFunc(slices.Clone(streams), r.givenUp)
		if len(streams) == 0 {
			return nil
		}
		gaps, err := r.Ledger.Lease(ctx, r.lane, streams, time.Now(), gapsPage)
		if err != nil {
			return err
		}
		if len(gaps) == 0 {
			return nil
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(r.Concurrency)
		for _, gaps := range byPlace(gaps) {
			group.Go(func() error {
				for _, gap := range gaps {
					if r.ended() != nil || r.givenUp(gap.Stream) {
						return nil
					}
					if err := r.tryAgain(ctx, gap); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// byPlace groups gaps that are filled one after the other: the walk from one
// gap of a place may pass the next. The groups are in the order of their first
// gaps, which is that of their rank.
func byPlace(gaps []collection.Gap) [][]collection.Gap {
	var groups [][]collection.Gap
	group := map[collection.Place]int{}
	for _, gap := range gaps {
		i, begun := group[gap.Place]
		if !begun {
			i, group[gap.Place] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], gap)
	}
	return groups
}

// tryAgain tries one gap. That a piece is forbidden still says nothing of the account; where
// nothing was readable in this run yet, something else is asked for, which does. A record that moved may
// have left a list that is forbidden now.
func (r *Runner) tryAgain(ctx context.Context, gap collection.Gap) error {
	if gap.Reason != collection.Forbidden && gap.Cursor != collection.AtContested || gap.Partition == "" {
		return r.fill(ctx, gap)
	}
	if err := r.fill(collection.WithForbidden(ctx), gap); err != nil || r.ended() != nil || !r.governor.InDoubt() {
		return err
	}
	return r.vouch(ctx, gap)
}

// vouch asks once more for a piece of the stream of a gap that was collected before, and is none of those that the
// gap is about. If it is refused as well, that is about the account.
func (r *Runner) vouch(ctx context.Context, gap collection.Gap) error {
	r.vouching.Lock()
	defer r.vouching.Unlock()
	i := slices.IndexFunc(r.streams, func(s collection.Stream) bool { return s.Name == gap.Stream })
	if r.vouched || i < 0 || r.ended() != nil || !r.governor.InDoubt() {
		return nil
	}
	r.vouched = true
	contests, err := r.Ledger.Contested(ctx, gap.Place)
	if err != nil {
		return inStream(r.streams[i], err)
	}
	at, ok, err := r.collected(ctx, r.streams[i], func(p collection.Partition) bool {
		return p != gap.Partition && !slices.ContainsFunc(contests, func(c collection.Contest) bool { return c.Partition == p })
	})
	if err != nil || !ok {
		return inStream(r.streams[i], err)
	}
	_, err = r.one(collection.WithPlace(ctx, at), at, collection.Cursor{})
	if err == nil {
		return nil
	}
	stop, err := asStop(ctx, err)
	if stop != nil && stop.EndsRun() {
		r.met(at, stop)
	}
	return inStream(r.streams[i], err)
}

// collected returns one of the first partitions of a stream that is collected, and may be asked for.
func (r *Runner) collected(ctx context.Context, stream collection.Stream, may func(collection.Partition) bool) (collection.Place, bool, error) {
	parents, err := r.Ledger.Parents(ctx, stream.Parent, "", parentsPage)
	if err != nil {
		return collection.Place{}, false, err
	}
	var places []collection.Place
	for _, parent := range parents {
		if partition, _, ok, err := r.Connector.Partition(stream.Name, parent); ok && err == nil {
			places = append(places, collection.Place{Stream: stream.Name, Partition: partition, Lane: r.lane})
		}
	}
	states, err := r.Ledger.Places(ctx, places)
	if err != nil {
		return collection.Place{}, false, err
	}
	i := slices.IndexFunc(states, func(s collection.PlaceState) bool {
		return s.Checkpoint.Done && !s.Owed && may(s.Checkpoint.Place.Partition)
	})
	if i < 0 {
		return collection.Place{}, false, nil
	}
	return places[i], true, nil
}

// fill tries one gap. If the walk of its place stands at it, the walk goes on
// from there to its end; a gap behind the checkpoint is one slice.
func (r *Runner) fill(ctx context.Context, gap collection.Gap) error {
	i := slices.IndexFunc(r.streams, func(s collection.Stream) bool { return s.Name == gap.Stream })
	if i < 0 {
		return nil // the stream is not part of this run
	}
	stream := r.streams[i]
	if stream.Parent != "" && gap.Partition == "" {
		return nil // it marks where the pass goes on, and the pass closes it
	}
	ctx = collection.WithPlace(ctx, gap.Place)
	if gap.Cursor == collection.AtContested {
		return r.decide(ctx, stream, gap)
	}
	if key, ok := gap.Partition.Unmade(); ok {
		return r.fillParent(ctx, stream, gap, key)
	}
	at, err := r.Ledger.Checkpoint(ctx, gap.Place)
	if err != nil {
		return err
	}
	if at.Cursor == gap.Cursor {
		guard := r.newRepeats()
		if err := r.lookBehind(ctx, gap, guard); err != nil {
			return r.failAgain(ctx, stream, gap, err)
		}
		return r.walkBehind(ctx, course{stream: stream, at: gap.Place, version: gap.Version, guard: guard, once: gap.Partition != ""}, at.Cursor)
	}
	anew, lost := r.restart(gap.Place, gap.Cursor)
	if alone, ok := r.alone(gap.Place, anew); ok && (!lost || anew.High != "") {
		return r.fillPiece(ctx, stream, gap, alone)
	}
	if lost {
		return r.fillAnew(ctx, stream, gap, at.Cursor)
	}
	slice, err := r.one(ctx, gap.Place, gap.Cursor)
	if err != nil {
		return r.failAgain(ctx, stream, gap, err)
	}
	slice.From, slice.Fills = gap.Cursor, gap.ID
	if _, err = r.commit(slice); err != nil {
		return r.failAgain(ctx, stream, gap, err)
	}
	return nil
}

// alone returns the cursor of a walk of the piece alone that from stands in, if the
// connector cuts the list into pieces.
func (r *Runner) alone(at collection.Place, from collection.Cursor) (collection.Cursor, bool) {
	if cutter, cuts := r.Connector.(connectors.Cutter); cuts {
		return cutter.Alone(at, from)
	}
	return from, false
}

// fillPiece fills a gap that owes a piece of a list, by a walk of it alone. Each slice
// moves the gap to what is owed then, and the last one closes it.
func (r *Runner) fillPiece(ctx context.Context, stream collection.Stream, gap collection.Gap, alone collection.Cursor) error {
	guard := r.newRepeats()
	for slice, err := range r.Connector.Slices(ctx, r.client, gap.Place, alone) {
		if err == nil {
			err = lacks(&slice)
		}
		if stop := guard.see(&slice, false); err == nil && stop != nil {
			err = stop
		}
		if err != nil {
			return r.failAgain(ctx, stream, gap, err)
		}
		slice.From, slice.Fills = gap.Cursor, gap.ID
		if !slice.Next.Done {
			slice.Leaves = &gap
		}
		if _, err := r.commit(slice); err != nil {
			return r.failAgain(ctx, stream, gap, err)
		}
		if slice.Next.Done || r.ended() != nil {
			return nil
		}
		gap.Cursor = slice.Next
	}
	return r.failAgain(ctx, stream, gap, errEnd)
}

// lacks returns a stop if a slice ends a piece of a list of which the provider says
// that it has more: the evidence of a place is that of its own walk.
func lacks(slice *collection.Slice) error {
	cut := slice.Told.Cut
	if span := slice.Span; cut == "" && span != nil && slice.Told.By != "" && !slice.Told.Pages && slice.Told.Total > int64(span.Records) {
		cut = fmt.Sprintf("%s says %d, but only %d came", slice.Told.By, slice.Told.Total, span.Records)
	}
	if cut == "" {
		return nil
	}
	return &collection.Stop{Reason: collection.BadPage, Detail: cut, Err: collection.ErrContradicted}
}

// fillAnew fills a gap behind the checkpoint whose cursor lost its meaning. The
// page that it owes is somewhere in the list as that is cut now, so that only a
// whole walk is sure to have it; one walk is enough for all such gaps of a place.
func (r *Runner) fillAnew(ctx context.Context, stream collection.Stream, gap collection.Gap, checkpoint collection.Cursor) error {
	if !checkpoint.Done || r.beginAnew(gap.Place) {
		if err := r.walk(ctx, stream, gap.Place, checkpoint, gap.Version); err != nil {
			return err
		}
	}
	at, err := r.Ledger.Checkpoint(ctx, gap.Place)
	if err != nil {
		return inStream(stream, err)
	}
	if _, lost := r.restart(gap.Place, at.Cursor); lost || !at.Done {
		return nil
	}
	r.beginAnew(gap.Place)
	_, err = r.save(collection.Slice{Place: gap.Place, From: gap.Cursor, Next: gap.Cursor, Fills: gap.ID})
	return inStream(stream, err)
}

// failAgain leaves a gap that could not be filled because of err.
func (r *Runner) failAgain(ctx context.Context, stream collection.Stream, gap collection.Gap, err error) error {
	stop, err := asStop(ctx, err)
	if err != nil {
		return inStream(stream, err)
	}
	r.met(gap.Place, stop)
	if r.unsent() {
		return nil
	}
	if err := r.unread(ctx, gap.Place, stop); err != nil {
		return inStream(stream, err)
	}
	again := r.gap(stream, gap.Place, gap.Cursor, stop)
	again.Version = gap.Version
	return r.leave(ctx, again, stop)
}

// lookBehind shows the guard the page before a gap, where the connector counts
// pages and what came was no good: it may have been that page once more. A guard
// that had not seen it would take it for the one that is owed.
func (r *Runner) lookBehind(ctx context.Context, gap collection.Gap, guard *repeats) error {
	ahead, ok := r.Connector.(connectors.Aheader)
	if !ok || gap.Reason != collection.BadPage {
		return nil
	}
	before, ok := ahead.Before(gap.Place, gap.Cursor)
	if !ok {
		return nil
	}
	slice, err := r.one(ctx, gap.Place, before)
	if err == nil {
		guard.see(&slice, false)
	}
	return err
}

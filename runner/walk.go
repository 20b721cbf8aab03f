package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"collect/collection"
	"collect/connectors"
)

// maxSkipped bounds how many slices in a row a walk leaves as gaps and goes on
// behind. One bad page is a fault of that page; several are a fault of the
// walk.
const maxSkipped = 3

// walk takes the walk of a place on from its checkpoint to its end. A walk
// that was finished begins anew, asking from its high-water mark; it then
// covers version.
//
// It returns an error only if the run cannot go on. Whatever else ends the
// walk becomes a gap.
func (r *Runner) walk(ctx context.Context, stream collection.Stream, at collection.Place, checkpoint collection.Cursor, version string) error {
	return r.walkBehind(collection.WithPlace(ctx, at), course{stream: stream, at: at, version: version, guard: r.newRepeats()}, checkpoint)
}

// A course is what a walk takes with it on its way.
type course struct {
	stream  collection.Stream
	at      collection.Place
	version string   // what it covers
	guard   *repeats // knows the pages of the walk, and may know some before its checkpoint
	once    bool     // its pages are not asked for again
	again   int      // how many times its next page was asked for again
	taken   func()   // called when the last slice that is fetched for now is being stored; nil: nobody waits for that
}

// walkBehind is walk for a walk that is set up. Its ctx names the stream.
func (r *Runner) walkBehind(ctx context.Context, c course, checkpoint collection.Cursor) error {
	stream, at, version := c.stream, c.at, c.version
	from := r.startAt(stream, at, checkpoint, version)
	again := false               // a pass was made again, which a run does once in a walk
	var asked *collection.Cursor // whose page was asked for again
	for skipped := 0; ; {
		fresh := c.guard.fresh
		reached, err := r.follow(ctx, c, checkpoint, from)
		if err == nil {
			if at.Partition == "" {
				r.finish(at)
			}
			return nil
		}
		if errors.Is(err, errAgain) && !again {
			again, c.guard = true, r.newRepeats() // which has not seen the pages of this pass
			checkpoint, from = reached, r.startAt(stream, at, reached, version)
			continue
		}
		if c.guard.fresh != fresh {
			skipped = 0
		}
		stop, err := asStop(ctx, err)
		if err != nil {
			return inStream(stream, err)
		}
		shrank, instead := r.shrank(ctx, at, reached, stop)
		stop = cmp.Or(instead, stop)
		gone := stop.Reason == collection.Gone && reached.Token != "" // the list is gone, and begins anew if it comes back
		if stop.Reason == collection.CursorExpired || shrank || gone {
			over := "starts over"
			from = collection.Cursor{Since: reached.Since, Version: version, Meaning: reached.Meaning}
			if errors.Is(stop, collection.ErrMarkExpired) {
				from.Since, over = "", "reads everything again"
			}
			// What was refused is not sent again, whatever becomes of the walk that begins here.
			if _, err := r.save(collection.Slice{Place: at, From: reached, Next: from, Anew: true, Told: collection.Told{First: true}}); err != nil {
				return inStream(stream, err)
			}
			checkpoint, reached = from, from
			if !gone && (shrank || r.beginAnew(at)) {
				why := fmt.Sprintf("the provider no longer accepts its own cursor (%d)", stop.Status)
				switch {
				case shrank:
					why = fmt.Sprintf("the provider refuses a page that the list had when its total was told (%d): records may have been deleted", stop.Status)
				case stop.Status == 0:
					why = stop.Detail // the connector knows it without asking
				}
				r.warn(at, collection.Warning{Text: fmt.Sprintf("%s, so the walk of %s %s", why, stream.Name, over)})
				c.guard, skipped = r.newRepeats(), 0
				continue
			}
		}
		if asked == nil || *asked != reached {
			asked, c.again = &reached, 0
		}
		if later, ok := r.askAgain(ctx, c, stop); ok {
			ctx, c.again = later, c.again+1
			checkpoint, from = reached, r.startAt(stream, at, reached, version)
			continue
		}
		r.met(at, stop)
		if r.unsent() || r.goesOn(at, stop) {
			return nil
		}
		gap := r.gap(stream, at, reached, stop)
		gap.Version = version
		if stop.Reason == collection.ListChanged {
			judged, err := r.Ledger.Checkpoint(context.WithoutCancel(ctx), at)
			if err != nil {
				return inStream(stream, err)
			}
			gap.Attempts = triedIn(judged.Evidence) - 1 // this try is counted when the gap is stored
		}
		next, ok := r.behind(at, reached, stop)
		next.Version = version
		if !ok || skipped == maxSkipped {
			r.stands(at, stop)
			return errors.Join(r.unread(ctx, at, stop), r.leave(ctx, gap, stop))
		}
		if _, err := r.save(collection.Slice{Place: at, From: reached, Next: next, Leaves: &gap}); err != nil {
			return inStream(stream, err)
		}
		if next.Done {
			if at.Partition == "" {
				r.finish(at)
			}
			return nil
		}
		checkpoint, from, c.again = next, next, 0
		skipped++
	}
}

// startAt returns the cursor that a walk asks from when it is taken on from a
// checkpoint. A walk that was finished begins anew and asks from its high-water mark.
// One whose cursor lost its meaning begins anew, from the marks that still have one.
func (r *Runner) startAt(stream collection.Stream, at collection.Place, checkpoint collection.Cursor, version string) collection.Cursor {
	anew, lost := r.restart(at, checkpoint)
	if lost {
		r.warn(at, collection.Warning{Text: "the connector file has changed, so the walk of " + stream.Name + " starts over"})
	}
	if lost || checkpoint.Done || checkpoint == (collection.Cursor{}) {
		return collection.Cursor{Since: anew.Since, High: anew.High, Version: version}
	}
	return checkpoint
}

// restart returns where a walk begins anew whose cursor lost its meaning, since
// the connector was edited; see [connectors.Restarter].
func (r *Runner) restart(at collection.Place, from collection.Cursor) (anew collection.Cursor, lost bool) {
	if known, ok := r.Connector.(connectors.Restarter); ok {
		return known.Restart(at, from)
	}
	return from, false
}

// shrank reports whether stop, the refusal of a page by its number, comes of a list that ends before that page now: its
// first page, which is asked for once in a run, has a total of no more than was delivered of the pages before. The walk
// begins anew then. Where the first page says something else that stop does not, as that the list is gone, or cannot be
// asked for now, that is what counts instead.
func (r *Runner) shrank(ctx context.Context, at collection.Place, reached collection.Cursor, stop *collection.Stop) (shrank bool, instead *collection.Stop) {
	refused := stop.Status >= http.StatusBadRequest && stop.Status < http.StatusInternalServerError && (stop.Reason == collection.BadPage || stop.Reason == collection.NotFound)
	declared, mayBeGone := errors.Is(stop, collection.ErrDeclared), stop.Reason == collection.NotFound && at.Partition != ""
	if !refused || reached.Token == "" || declared && !mayBeGone || !r.counted(at, reached) {
		return false, nil
	}
	checkpoint, err := r.Ledger.Checkpoint(ctx, at)
	told := checkpoint.Evidence.By != "" && !declared
	if err != nil || !told && !mayBeGone || checkpoint.Cursor != reached || !r.beginAnew(at) {
		return false, nil
	}
	first, err := r.one(ctx, at, collection.Cursor{Since: reached.Since, Version: reached.Version, Meaning: reached.Meaning})
	if other, _ := asStop(ctx, err); other != nil && (other.Reason == collection.Gone || other.Reason.Kind() != collection.Stuck) {
		return false, other
	}
	if err != nil || !told || first.Told.By == "" {
		return false, nil
	}
	if first.Told.Pages {
		return first.Told.Total <= checkpoint.Evidence.Pages, nil
	}
	return first.Told.Total <= checkpoint.Evidence.Distinct(), nil
}

// beginAnew reports whether a walk may begin anew that has a cursor, or was
// finished in this run: once in a run, since a provider whose cursors never last
// would be walked for ever. What is stored again is the same.
func (r *Runner) beginAnew(at collection.Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.begun[at]
	r.begun[at] = true
	return !again
}

// newRepeats returns a guard that has seen no page.
func (r *Runner) newRepeats() *repeats {
	return &repeats{limit: r.limits.PagesWithout, most: r.limits.Pages}
}

// inStream adds the name of the stream to err, which may be nil.
func inStream(stream collection.Stream, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("stream %s: %w", stream.Name, err)
}

// follow commits slice after slice until the walk is done, and returns the
// checkpoint it reached. The first slice is the one at from.
//
// While slices are made durable, those behind them are fetched. If one is not
// stored, what was fetched behind it is dropped.
func (r *Runner) follow(ctx context.Context, c course, checkpoint, from collection.Cursor) (collection.Cursor, error) {
	begins := from != checkpoint
	ctx, drop := context.WithCancel(ctx)
	defer drop()
	under, next := r.landings(checkpoint, drop), checkpoint
	for slice, err := range r.slices(ctx, c.at, from) {
		if err == nil {
			err = under.room(slice)
		}
		if err != nil {
			return under.all(err)
		}
		if begins {
			// What the walk asks for is new; where it starts is the checkpoint.
			slice.From, begins = checkpoint, false
		}
		if slice.From != next {
			return under.all(errChain)
		}
		if stop := c.guard.see(&slice, r.counted(c.at, slice.From)); stop != nil {
			return under.all(stop)
		}
		next = slice.Next
		r.came(slice)
		r.helped(c)
		full := c.guard.full()
		if goesOn := !next.Done && slice.Else == nil; goesOn && full == nil && r.ended() == nil {
			under.add(slice, nil)
			continue
		}
		under.add(slice, c.taken)
		if reached, err := under.all(nil); err != nil || reached.Done {
			return reached, err
		}
		if stop := cmp.Or(r.ended(), full); stop != nil {
			return next, stop
		}
	}
	return under.all(errEnd)
}

// mostRefuted bounds the passes in a row whose evidence speaks against them.
// The second one shows that another does not help, in this run or the next.
const mostRefuted = 2

// refuted returns the stop for a pass whose evidence says that it did not deliver
// all there is: errAgain is its cause if it may be made again.
func refuted(e collection.Evidence) error {
	stop := &collection.Stop{Reason: collection.BadPage, Detail: e.Contradiction(), Err: collection.ErrContradicted}
	switch tried := triedIn(e); {
	case e.Lost > 0:
		stop.Reason = collection.SchemaDrift // a person can accept it
	case e.Changed() && tried < collection.MaxGapAttempts:
		stop.Reason = collection.ListChanged
	case e.Changed(): // no quieter hour came: later runs read it again, and a person hears of it
		stop.Detail += fmt.Sprintf("; so it was in %d runs in a row", tried)
		if e.Fell > 0 && !e.InPages {
			stop.Detail += ". If the list does not change that much, the total counts something else: `total: ignore` in the stream says so"
		}
	}
	if e.Refuted < mostRefuted {
		stop.Err = errAgain
	}
	return stop
}

// triedIn returns how many runs in a row had their last pass refuted. The first one makes the pass again, and each later
// one makes one pass, whose first page closes the gap of the run before.
func triedIn(e collection.Evidence) int { return max(1, int(e.Refuted)-mostRefuted+1) }

var (
	errAgain = errors.New("the walk is made again")
	errChain = errors.New("the connector broke its chain of cursors")
	errEnd   = errors.New("the connector ended without saying that the walk is done")
)

// asStop returns the stop in err. Cancelling the run is one, unless that was done
// because its lease is lost; any other error is returned as it is.
func asStop(ctx context.Context, err error) (*collection.Stop, error) {
	if lost := context.Cause(ctx); errors.Is(lost, collection.ErrFenced) {
		return nil, lost
	}
	if stop, ok := errors.AsType[*collection.Stop](err); ok {
		return stop, nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return &collection.Stop{Reason: collection.Interrupted, Err: err}, nil
	}
	return nil, err
}

// counted reports whether the connector, and not the provider, says which slice
// follows the one at from.
func (r *Runner) counted(at collection.Place, from collection.Cursor) bool {
	ahead, ok := r.Connector.(connectors.Aheader)
	return ok && len(ahead.Ahead(at, from, 1)) == 1
}

// slices yields the slices of a place one after the other, or several fetched
// side by side where the connector can name cursors ahead.
func (r *Runner) slices(ctx context.Context, at collection.Place, from collection.Cursor) iter.Seq2[collection.Slice, error] {
	ahead, ok := r.Connector.(connectors.Aheader)
	if ok && r.Concurrency > 1 && at.Partition == "" && r.counted(at, from) {
		return r.sideBySide(ctx, ahead, at, from)
	}
	return r.Connector.Slices(ctx, r.client, at, from)
}

// commit stores a slice that came from the provider, and counts it.
func (r *Runner) commit(slice collection.Slice) (collection.Committed, error) {
	return r.committed(r.commits.begin(&pending{slice: slice}))
}

// committed returns when a slice that came from the provider is stored, and counts it.
func (r *Runner) committed(p *pending) (collection.Committed, error) {
	slice := &p.slice
	done, err := r.saved(p)
	if err != nil {
		return done, r.discreet(slice.Records, err)
	}
	r.mu.Lock()
	r.tally.Slices++
	r.tally.Records += int64(len(slice.Records) + len(slice.Rejected))
	r.tally.Changed += int64(done.Changed)
	r.tally.Rejected += int64(done.Rejected)
	r.tally.Older += int64(done.Older)
	r.tally.Deleted += int64(done.Deleted)
	if slice.Partition != "" {
		r.endStreak(slice.Stream)
	}
	r.mu.Unlock()
	r.observe(collection.Event{
		Kind: collection.SliceCommitted, Stream: slice.Stream, Partition: slice.Partition, Lane: slice.Lane,
		Slice: &collection.SliceInfo{
			Commit: done.Commit, Records: len(slice.Records), Changed: done.Changed,
			Rejected: done.Rejected, Older: done.Older, Deleted: done.Deleted, Done: done.Next.Done,
		},
	})
	for _, warning := range slice.Warnings {
		r.warn(slice.Place, warning)
	}
	return done, nil
}

// discreet returns err, which records were refused with. They are held while their page
// is owed. If a provider has put the credential into the name of a field, neither the
// name nor the records are kept.
func (r *Runner) discreet(records []collection.Record, err error) error {
	stop, ok := errors.AsType[*collection.Stop](err)
	switch {
	case !ok:
	case r.governor.HoldsSecret(stop.Detail):
		return &collection.Stop{Reason: stop.Reason, Detail: "fields of the records changed, and one of them has the credential in its name"}
	case stop.Reason == collection.SchemaDrift:
		stop.Held = collection.Drifted(records)
	}
	return err
}

// save moves a checkpoint, and tells what became of the gaps there. The caller adds
// the name of the stream to an error.
func (r *Runner) save(slice collection.Slice) (collection.Committed, error) {
	return r.saved(r.commits.begin(&pending{slice: slice}))
}

func (r *Runner) saved(p *pending) (collection.Committed, error) {
	slice := &p.slice
	done, err := p.wait()
	if err != nil {
		return done, err
	}
	// The slice is safe. If the pace cannot be saved, the next request says so.
	_ = r.governor.Remember(context.Background())
	r.mu.Lock()
	r.tally.GapsShut += int64(len(done.Closed))
	left := done.Left.ID != 0 && (slice.Leaves == nil || slice.Fills == 0)
	if left {
		r.tally.GapsOpen++
	}
	r.mu.Unlock()
	if left {
		r.observe(done.Left.Event(collection.GapOpened))
	}
	for _, gap := range done.Closed {
		r.observe(gap.Event(collection.GapClosed))
	}
	return done, nil
}

// leave records the gap that stop left. Only a piece that was really tried
// counts an attempt: not one whose request did not reach the provider.
func (r *Runner) leave(ctx context.Context, gap collection.Gap, stop *collection.Stop) error {
	// What is owed is recorded even if ctx is what ended the walk.
	return r.deferGaps(context.WithoutCancel(ctx), !stop.Reason.EndsRun() && !errors.Is(stop, collection.ErrUnreached), gap)
}

// behind returns the cursor behind a slice, or behind the piece of the list that it is
// a part of, if that cannot be had, the connector can name it without the slice, and the
// fault is the slice's own.
func (r *Runner) behind(at collection.Place, checkpoint collection.Cursor, stop *collection.Stop) (next collection.Cursor, ok bool) {
	if errors.Is(stop, collection.ErrNoProgress) || !stop.Reason.OfPage() && !errors.Is(stop, collection.ErrGapDeclared) {
		return next, false
	}
	if ahead, counts := r.Connector.(connectors.Aheader); counts {
		if next := ahead.Ahead(at, checkpoint, 1); len(next) == 1 {
			return next[0], true
		}
	}
	if cutter, cuts := r.Connector.(connectors.Cutter); cuts {
		return cutter.Behind(at, checkpoint)
	}
	return next, false
}

// deferGaps records gaps and tells who watches.
func (r *Runner) deferGaps(ctx context.Context, worked bool, gaps ...collection.Gap) error {
	opened, err := r.Ledger.Defer(ctx, worked, gaps...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.tally.GapsOpen += int64(len(opened))
	for _, gap := range opened {
		if gap.Partition == "" {
			r.left[gap.Place] = true
		}
	}
	r.mu.Unlock()
	for _, gap := range opened {
		r.observe(gap.Event(collection.GapOpened))
	}
	return nil
}

// gap returns the gap that stop leaves at a place of stream.
func (r *Runner) gap(stream collection.Stream, at collection.Place, cursor collection.Cursor, stop *collection.Stop) collection.Gap {
	gap := collection.Gap{
		Place: at, Cursor: cursor, Shape: stream.Role.Shape(at.Partition),
		Reason: stop.Reason, Detail: stop.Detail, NotBefore: stop.NotBefore, Run: r.Run.ID, Held: stop.Held,
	}
	if stop.Reason == collection.WallClock {
		gap.NotBefore = time.Time{} // what did not fit in this run holds back no other
	}
	return gap
}

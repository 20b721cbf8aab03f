package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"collect/collection"
	"collect/store/internal/checkpoints"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/internal/gaps"
	"collect/store/internal/lanes"
	"collect/store/internal/records"
	"collect/store/internal/streams"
)

// Commit stores slices in one transaction; see store.Ledger.
func (l *ledger) Commit(ctx context.Context, slices ...collection.Slice) ([]collection.Committed, error) {
	if len(slices) == 0 {
		return nil, nil
	}
	// What a commit learns of fields counts only when it is durable, which is
	// after it gave back the writer's turn.
	l.committing.Lock()
	defer l.committing.Unlock()
	b := batch{ledger: l, news: streams.NewNews(), moves: lanes.Changes{}, results: make([]collection.Committed, len(slices))}
	err := l.write(ctx, database.Patience, func(t database.Tx) error {
		b.tx = t
		if err := b.sign(len(slices)); err != nil {
			return err
		}
		if err := b.stand(slices); err != nil {
			return err
		}
		for i := range slices {
			if err := b.commit(&slices[i], &b.results[i]); err != nil {
				return err
			}
		}
		if err := b.records.Count(); err != nil {
			return err
		}
		if err := b.news.Save(t); err != nil {
			return err
		}
		if err := b.moves.Save(t); err != nil {
			return err
		}
		return b.tally(slices)
	})
	if err != nil {
		return nil, err
	}
	b.news.Keep()
	return b.results, nil
}

// A batch is the slices of one transaction.
type batch struct {
	ledger  *ledger
	tx      database.Tx
	last    int64                                      // the newest commit
	here    map[collection.Place]*checkpoints.Standing // as the slices so far left it
	numbers []string                                   // of the commits to come, where the database gives them
	records *records.Batch
	news    *streams.News
	moves   lanes.Changes
	results []collection.Committed
}

// sign numbers the commit, like every write of a ledger, and reads in the same
// statement what the rows to come are counted from.
func (b *batch) sign(slices int) error {
	b.ledger.writes++
	var newest int64
	var err error
	if given := b.tx.Dialect().Numbers; given != "" {
		var numbers string
		err = b.tx.Row(signQuery(b.tx)+given, append(b.ledger.signature(), make([]int64, slices))...).Scan(&numbers)
		b.numbers = strings.Fields(numbers)
	} else {
		err = b.tx.Row(signQuery(b.tx)+` RETURNING (SELECT coalesce(max(id), 0) FROM slices), (SELECT coalesce(max(id), 0) FROM records)`,
			b.ledger.signature()...).Scan(&b.last, &newest)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return collection.ErrFenced
	}
	b.records = records.NewBatch(b.tx, newest, b.news)
	b.records.Begun = checkpoints.Begun
	return err
}

// stand learns how the places of the slices stand, and asks once for all partitions of
// a stream in a lane.
func (b *batch) stand(slices []collection.Slice) error {
	b.here = make(map[collection.Place]*checkpoints.Standing, len(slices))
	for i := range slices {
		first := slices[i].Place
		if b.here[first] != nil {
			continue
		}
		s, err := b.ledger.stream(first.Stream)
		if err != nil {
			return err
		}
		var partitions []collection.Partition
		var here []*checkpoints.Standing
		for j := range slices[i:] {
			at := slices[i+j].Place
			if at.Stream == first.Stream && at.Lane == first.Lane && b.here[at] == nil {
				b.here[at] = &checkpoints.Standing{}
				partitions, here = append(partitions, at.Partition), append(here, b.here[at])
			}
		}
		if err := checkpoints.Stand(b.tx, s.ID, first.Lane, partitions, here); err != nil {
			return err
		}
	}
	return nil
}

// number gives the next commit its number.
func (b *batch) number() (err error) {
	if len(b.numbers) == 0 {
		b.last++
		return nil
	}
	b.last, err = strconv.ParseInt(b.numbers[0], 10, 64)
	b.numbers = b.numbers[1:]
	return err
}

// commit stores one slice. Its row in slices, which is its number, its audit
// trail and its event, is written last, when everything is counted.
func (b *batch) commit(sl *collection.Slice, result *collection.Committed) error {
	s, err := b.ledger.stream(sl.Stream)
	if err != nil {
		return err
	}
	here := b.here[sl.Place]
	moves := here.At.Cursor == sl.From
	if sl.Fills == 0 && !moves {
		return collection.ErrCursorMoved // the caller knows the place
	}
	if err := b.number(); err != nil {
		return err
	}
	result.Commit, b.records.Commit = b.last, b.last
	n, err := b.records.Store(s, here.Partition, b.pass(here, sl, moves), &here.At.Evidence, sl, result)
	if err != nil {
		return err
	}
	previous, next := here.At.Commit, here.At
	if moves {
		if next, err = b.move(s, here, sl, n, result); err != nil {
			return err
		}
	}
	result.Next, result.Evidence = next.Cursor, next.Evidence
	if err := b.settle(gaps.Place{Place: sl.Place, StreamID: s.ID, PartitionID: here.Partition}, here.Owes, sl, moves, result); err != nil {
		return err
	}
	here.Owes = here.Owes || result.Left.ID != 0
	span, err := spanText(sl, result)
	if err != nil {
		return err
	}
	return b.tx.Exec(`INSERT INTO slices
			(id, partition_id, lane, run, epoch, previous, fills, records, changed, rejected, older, deleted, done, committed_at, span)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		b.last, here.Partition, string(sl.Lane), b.ledger.Run, b.ledger.epoch, previous, sl.Fills,
		len(sl.Records)+len(sl.Rejected), result.Changed, result.Rejected, result.Older, result.Deleted, moves && next.Done, format.Time(b.tx.Now), span)
}

// spanText returns the window of time that a slice finished: "" if it finished none,
// or if its walk begins the window anew.
func spanText(sl *collection.Slice, result *collection.Committed) (string, error) {
	if sl.Span == nil || sl.Fills == 0 && result.Next != sl.Next {
		return "", nil
	}
	text, err := json.Marshal(sl.Span)
	return string(text), err
}

// pass returns the commit that began the pass that a slice belongs to, 0 if none
// is followed.
func (b *batch) pass(here *checkpoints.Standing, sl *collection.Slice, moves bool) int64 {
	switch {
	case !moves || !sl.Tracked():
		return 0
	case sl.BeginsPass():
		return b.last
	}
	return here.At.Evidence.Pass
}

// move moves the checkpoint of a place in a stream to where the evidence of its
// pass leads.
func (b *batch) move(s *streams.Stream, here *checkpoints.Standing, sl *collection.Slice, n records.Count, result *collection.Committed) (collection.Checkpoint, error) {
	next := collection.Checkpoint{Commit: b.last, Epoch: b.ledger.epoch}
	stored := int64(0)
	if sl.AsksStored() {
		if err := b.records.Count(); err != nil {
			return next, err
		}
		if err := b.tx.Row(`SELECT records - (SELECT count(*) FROM records WHERE stream_id = ?1 AND deleted <> 0) FROM streams WHERE id = ?1`, s.ID).Scan(&stored); err != nil {
			return next, err
		}
	}
	evidence := here.At.Evidence.With(sl, b.last, stored, n.Redelivered).Following(sl, s.Sweeps)
	evidence.Moved += n.Unproven
	evidence.Rejected += int64(result.Rejected - len(sl.Rejected)) // those that the store found, too
	var err error
	if next.Evidence, next.Cursor, err = b.sweep(s, here, sl, evidence, result); err != nil {
		return next, err
	}
	var from *collection.Cursor
	if here.Begun {
		from = &here.At.Cursor
	}
	b.moves.Move(s.ID, sl.Place, from, next.Cursor)
	return next, here.Move(b.tx, sl.Place, next)
}

// sweep judges the evidence of a pass that sl belongs to. Where it is the end of a
// walk that was complete, the records that it did not show are marked as deleted,
// unless they are so many that it is the provider that is doubted.
func (b *batch) sweep(s *streams.Stream, here *checkpoints.Standing, sl *collection.Slice, e collection.Evidence, result *collection.Committed) (collection.Evidence, collection.Cursor, error) {
	if !e.Sweeping() || !sl.Next.Done || e.Contradiction() != "" {
		judged, next := e.Judged(sl)
		return judged, next, nil
	}
	before, judged := e.Sweep()
	w := records.Sweep{Stream: s.ID, Partition: here.Partition, Before: judged}
	begun := e.Pass
	var err error
	if sl.Partition != "" {
		if begun, err = checkpoints.Begun(b.tx, s.ID, sl.Lane); err != nil {
			return e, sl.Next, err
		}
	}
	accepted, err := w.Accepted(b.tx, begun)
	if err == nil && !accepted {
		e.Lost, e.Living, err = w.Lost(b.tx, begun)
		w.Before = before
	}
	if err != nil {
		return e, sl.Next, err
	}
	e, next := e.Judged(sl)
	if e.Lost > 0 {
		return e, next, nil
	}
	marked, err := w.Mark(b.tx, b.last)
	result.Deleted += marked
	if e.Lacks = 0; err == nil && w.Before != e.Pass {
		e.Lacks, err = w.Lacks(b.tx, e.Pass)
	}
	return e, next, err
}

// settle closes the gaps that a slice passes, and opens the one that it leaves. One that
// goes on anew passes none.
func (b *batch) settle(p gaps.Place, owes bool, sl *collection.Slice, moves bool, result *collection.Committed) (err error) {
	book := b.ledger.book()
	if err := b.contest(p, sl, result); err != nil {
		return err
	}
	if sl.Anew {
		return book.MoveFrom(b.tx, p, sl.From, sl.Next)
	}
	if sl.Fills != 0 && sl.Leaves != nil {
		return book.Move(b.tx, p, sl.Fills, sl.Next)
	}
	if owes {
		passed := *sl
		if moves {
			passed.Next = result.Next
		}
		if result.Closed, err = book.Pass(b.tx, p, &passed, moves); err != nil {
			return err
		}
	}
	if sl.Leaves != nil {
		left := *sl.Leaves
		left.Place, left.Cursor = sl.Place, sl.From
		if err := records.Hold(b.tx, b.ledger.streams[sl.Stream], p.PartitionID, left.Held); err != nil {
			return err
		}
		result.Left, err = book.Defer(b.tx, p, left, true, moves && result.Next != sl.From)
	}
	return err
}

// contest leaves a gap for the contested records of a slice. If a person gave up that gap, or no run tries it any
// more, it rejects the records.
func (b *batch) contest(p gaps.Place, sl *collection.Slice, result *collection.Committed) error {
	n := b.records.Undecided
	if n == 0 {
		return nil
	}
	gap := collection.Gap{
		Place: p.Place, Cursor: collection.AtContested, Shape: b.ledger.streams[sl.Stream].Role.Shape(p.Partition), Reason: collection.Contested,
		Detail: "records moved there, or share their keys with those of another parent; both lists are read again",
	}
	left, due, err := b.ledger.book().DeferNew(b.tx, p, gap)
	if result.Left = left; !due {
		result.Rejected += n
	}
	return err
}

// tally adds the slices to what their run has done, so that a run whose
// process dies has not done nothing.
func (b *batch) tally(slices []collection.Slice) error {
	var n collection.Tally
	var spent collection.Tally // the most that any of them knows of
	for i := range slices {
		known := &slices[i].Spent
		spent.Requests, spent.Retries = max(spent.Requests, known.Requests), max(spent.Retries, known.Retries)
		spent.Throttled = max(spent.Throttled, known.Throttled)
		if delivered := len(slices[i].Records) + len(slices[i].Rejected); delivered > 0 {
			n.Slices++
			n.Records += int64(delivered)
		}
		n.Changed += int64(b.results[i].Changed)
		n.Rejected += int64(b.results[i].Rejected)
		n.Older += int64(b.results[i].Older)
		n.Deleted += int64(b.results[i].Deleted)
	}
	if n == (collection.Tally{}) {
		return nil
	}
	return b.tx.Exec(`UPDATE runs SET slices = slices + ?, records = records + ?, changed = changed + ?, rejected = rejected + ?,
		older = older + ?, deleted = deleted + ?,
		requests = CASE WHEN requests > ?7 THEN requests ELSE ?7 END, retries = CASE WHEN retries > ?8 THEN retries ELSE ?8 END,
		throttled = CASE WHEN throttled > ?9 THEN throttled ELSE ?9 END WHERE id = ?10`, // max would be a function of ours
		n.Slices, n.Records, n.Changed, n.Rejected, n.Older, n.Deleted, spent.Requests, spent.Retries, spent.Throttled, b.ledger.Run)
}

package dst_test

import (
	"context"
	"slices"
	"time"

	"collect/collection"
)

// A twinLedger is the write side of a twin for one run.
type twinLedger struct {
	twin     *twin
	run      string
	number   int // of the run, in the order of their start
	epoch    int64
	finished bool
	parents  map[string]bool // the streams that were declared: whether they have partitions
}

func (l *twinLedger) Epoch() int64 { return l.epoch }

// update runs do, which has an effect or returns an error, while the lease is
// that of l.
func (l *twinLedger) update(ctx context.Context, do func(now time.Time) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.twin.mu.Lock()
	defer l.twin.mu.Unlock()
	if l.twin.epoch != l.epoch || l.twin.leaseOf != l.run {
		return collection.ErrFenced
	}
	return do(stored(time.Now()))
}

func (l *twinLedger) Checkpoint(ctx context.Context, at collection.Place) (collection.Checkpoint, error) {
	states, err := l.Places(ctx, []collection.Place{at})
	if err != nil {
		return collection.Checkpoint{}, err
	}
	return states[0].Checkpoint, nil
}

func (l *twinLedger) Places(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error) {
	l.twin.mu.Lock()
	defer l.twin.mu.Unlock()
	states := make([]collection.PlaceState, len(at))
	for i, place := range at {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		cp := l.twin.at[place]
		cp.Place = place
		g := l.twin.owedAt(place, cp.Cursor)
		states[i] = collection.PlaceState{Checkpoint: cp, Owed: g != nil && !g.Reason.EndsRun()}
		if g != nil && g.Settled() && !g.Waived() {
			states[i].Absent = collection.Absence{Covers: g.Version, Since: g.OpenedAt, Tried: g.TriedAt}
		}
		if g != nil && g.Reason.EndsRun() {
			states[i].Left = g.Reason
		}
	}
	return states, nil
}

func (l *twinLedger) Contested(context.Context, collection.Place) ([]collection.Contest, error) {
	return nil, nil
}

func (l *twinLedger) Parents(ctx context.Context, parent, after string, n int) (parents []collection.Parent, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.twin.mu.Lock()
	defer l.twin.mu.Unlock()
	shelf := l.twin.shelves[parent]
	begin, found := slices.BinarySearch(shelf.keys, after)
	if found {
		begin++
	}
	for _, key := range shelf.keys[begin:min(begin+n, len(shelf.keys))] {
		r := shelf.records[key]
		parents = append(parents, collection.Parent{Partition: r.partition, Record: collection.Record{Key: key, Data: []byte(r.data)}, Commit: r.commit})
	}
	return parents, nil
}

func (l *twinLedger) Commit(ctx context.Context, group ...collection.Slice) (results []collection.Committed, err error) {
	err = l.update(ctx, func(now time.Time) error {
		// Nothing is written if one of them cannot be.
		moved := map[collection.Place]collection.Cursor{}
		for _, sl := range group {
			at, ok := moved[sl.Place]
			if !ok {
				at = l.twin.at[sl.Place].Cursor
			}
			if sl.Fills == 0 && at != sl.From {
				return collection.ErrCursorMoved
			}
			if at == sl.From {
				moved[sl.Place] = sl.Next
			}
		}
		for _, sl := range group {
			results = append(results, l.commit(sl, now))
		}
		return nil
	})
	return results, err
}

func (l *twinLedger) commit(sl collection.Slice, now time.Time) (result collection.Committed) {
	s := l.twin
	at := s.at[sl.Place]
	result.Commit = int64(len(s.commits) + 1)
	moves := at.Cursor == sl.From
	var seen collection.Redelivered
	result.Changed, result.Rejected, result.Older, seen = l.put(sl, l.passOf(at, sl, moves, result.Commit), &at.Evidence)
	if moves {
		to := collection.Checkpoint{Place: sl.Place, Commit: result.Commit, Epoch: l.epoch, SavedAt: now}
		evidence := at.Evidence.With(&sl, result.Commit, l.stored(&sl), seen)
		to.Evidence, to.Cursor, result.Deleted = s.shelves[sl.Stream].sweep(&sl, evidence, result.Commit)
		if sl.Next = to.Cursor; !to.Evidence.Kept(sl.Place, to.Cursor) {
			to.Evidence = collection.Evidence{}
		}
		s.at[sl.Place] = to
	}
	result.Next, result.Evidence = s.at[sl.Place].Cursor, s.at[sl.Place].Evidence
	result.Closed = s.pass(sl, moves)
	if sl.Leaves != nil && sl.Fills == 0 {
		left := *sl.Leaves
		left.Place, left.Cursor = sl.Place, sl.From
		result.Left = l.owe(left, true, moves && sl.Next != sl.From, now)
	}
	s.commits = append(s.commits, commit{
		id: result.Commit, epoch: l.epoch, previous: at.Commit, fills: sl.Fills, at: sl.Place,
	})
	return result
}

// passOf returns the pass that a slice belongs to; 0 for one that is not told
// from another.
func (l *twinLedger) passOf(at collection.Checkpoint, sl collection.Slice, moves bool, commit int64) int64 {
	switch {
	case !moves || !sl.Tracked():
		return 0
	case sl.BeginsPass():
		return commit
	}
	return at.Evidence.Pass
}

// stored returns how many records the stream of a slice has, if that is asked for.
func (l *twinLedger) stored(sl *collection.Slice) int64 {
	if !sl.AsksStored() {
		return 0
	}
	shelf := l.twin.shelves[sl.Stream]
	return int64(len(shelf.keys) - shelf.deleted)
}

// put stores the records of a slice, and returns how many are new or other
// than they were, how many are in quarantine now, and how many are older than
// what is stored.
func (l *twinLedger) put(sl collection.Slice, pass int64, before *collection.Evidence) (changed, rejected, older int, seen collection.Redelivered) {
	shelf := l.twin.shelves[sl.Stream]
	var same []collection.Record
	for _, r := range sl.Records {
		was, known := shelf.records[r.Key]
		switch {
		case !known:
		case pass != 0 && was.partition == sl.Partition && was.pass == pass:
			seen.Again++
			if was.data != string(r.Data) {
				seen.Replaced++
				if before.IsLater(&r) {
					seen.Later++
				}
			}
		case pass != 0 && was.partition == sl.Partition:
			was.pass = pass
			shelf.records[r.Key] = was
		}
		switch {
		case !known:
			i, _ := slices.BinarySearch(shelf.keys, r.Key)
			shelf.keys = slices.Insert(shelf.keys, i, r.Key)
		case was.deleted != 0 && !was.mark.After(r.Mark):
			shelf.deleted--
		case was.partition != sl.Partition:
			same = append(same, r)
			continue
		case was.mark.After(r.Mark):
			same = append(same, r)
			older++
			continue
		case was.data == string(r.Data):
			same = append(same, r)
			if r.Mark != (collection.Mark{}) {
				was.mark = r.Mark
				shelf.records[r.Key] = was
			}
			continue
		}
		is := shelved{sl.Partition, string(r.Data), r.Mark, pass, int64(len(l.twin.commits) + 1), 0}
		if known && pass == 0 {
			is.pass = was.pass
		}
		shelf.records[r.Key] = is
		shelf.versions[r.Key] = versionOf(r.Data)
	}
	shelf.sight(sl.Records, int64(len(l.twin.commits)+1))
	changed, rejected = len(sl.Records)-len(same), len(sl.Rejected)
	for _, r := range sl.Rejected {
		l.twin.rejected[string(r.Data)] = true
	}
	if !l.parents[sl.Stream] && sl.Partition == "" {
		return changed, rejected, older, seen
	}
	for _, r := range same {
		if is := shelf.records[r.Key]; is.partition != sl.Partition && is.data != string(r.Data) {
			l.twin.rejected[string(r.Data)] = true
			rejected++
		}
	}
	return changed, rejected, older, seen
}

func (l *twinLedger) SaveProvider(ctx context.Context, domain string, state []byte, _ ...collection.Event) error {
	return l.update(ctx, func(time.Time) error {
		l.twin.learned[domain] = slices.Clone(state)
		return nil
	})
}

func (l *twinLedger) Beat(ctx context.Context, now time.Time, _ collection.Tally, _ collection.Metrics) error {
	return l.update(ctx, func(written time.Time) error {
		l.moveBackIfAhead(now, written)
		l.twin.runs[l.number].heard = stored(now)
		return nil
	})
}

// moveBackIfAhead moves what gaps wait for if the run was heard of later than
// now, before anything is written by the new clock.
func (l *twinLedger) moveBackIfAhead(now, written time.Time) {
	if run := &l.twin.runs[l.number]; run.heard.After(now) {
		l.twin.moveBack(written)
		run.heard = stored(now)
	}
}

func (l *twinLedger) Finish(ctx context.Context, run collection.Run) error {
	if l.finished {
		return nil
	}
	err := l.update(ctx, func(now time.Time) error {
		if !run.EndedAt.IsZero() {
			now = stored(run.EndedAt)
		}
		r := &l.twin.runs[l.number]
		r.on, r.ended = false, now
		l.twin.free()
		l.twin.leaseOf = ""
		return nil
	})
	l.finished = true
	_ = l.Abandon()
	return err
}

// Abandon lets go of the lock, as the kernel does for a process that ends.
func (l *twinLedger) Abandon() error {
	l.twin.mu.Lock()
	defer l.twin.mu.Unlock()
	if l.twin.holder == l {
		l.twin.holder = nil
	}
	return nil
}

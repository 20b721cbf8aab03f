package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
	"collect/store/sqlite/internal/lanes"
)

// Reset moves the checkpoint of a place by hand; see store.Store. The commits
// of the place keep their chain: the next one names the last as its
// predecessor, and the event stands between them.
func (s *Store) Reset(ctx context.Context, connector string, at collection.Place, to collection.Cursor, audit store.Audit) error {
	if s.db.Writer == nil {
		return database.ErrReadOnly
	}
	var known bool
	_, err := s.db.One(ctx, []any{&known}, `SELECT EXISTS (SELECT 1 FROM streams WHERE connector = ? AND name = ?)`, connector, at.Stream)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("reset: %s has no stream %q", connector, at.Stream)
	}
	err = s.operate(ctx, connector, audit, func(l *ledger, t database.Tx) error { return l.reset(t, at, to, audit) })
	if err != nil {
		return fmt.Errorf("reset %s: %w", connector, err)
	}
	return nil
}

// Override changes what is remembered of a pacing domain; see store.Store.
func (s *Store) Override(ctx context.Context, connector, domain string, edit store.Edit, audit store.Audit, events ...collection.Event) error {
	if s.db.Writer == nil {
		return database.ErrReadOnly
	}
	err := s.operate(ctx, connector, audit, func(l *ledger, t database.Tx) error {
		var stands []byte
		err := t.Row(`SELECT state FROM provider_state WHERE domain = ?`, domain).Scan(&stands)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		state, err := edit(stands)
		if err != nil {
			return err
		}
		if n := len(events); n > 0 {
			events = slices.Clone(events)
			events[n-1].Message = audit.Who + ": " + audit.Why
		}
		return l.saveProvider(t, domain, state, events)
	})
	if err != nil {
		return fmt.Errorf("override for %s: %w", connector, err)
	}
	return nil
}

// operate makes a change by hand in one transaction, under the lease of the
// connector, which it takes and gives back.
func (s *Store) operate(ctx context.Context, connector string, audit store.Audit, change func(*ledger, database.Tx) error) error {
	lock, err := s.hold(ctx, connector)
	if err != nil {
		return err
	}
	l := &ledger{store: s, lock: lock, connector: connector, streams: map[string]*stream{}}
	err = s.db.Writer.Update(ctx, func(t database.Tx) error {
		if err := l.takeLease(t, audit.Holder); err != nil {
			return err
		}
		if err := l.takeOver(t); err != nil {
			return err
		}
		if err := change(l, t); err != nil {
			return err
		}
		return t.Exec(`UPDATE leases SET run = NULL WHERE connector = ?`, connector)
	}, l.tookEffect)
	return errors.Join(err, s.drop(lock))
}

func (l *ledger) reset(t database.Tx, at collection.Place, to collection.Cursor, audit store.Audit) error {
	s := &stream{}
	if err := t.Row(`SELECT id FROM streams WHERE connector = ? AND name = ?`, l.connector, at.Stream).Scan(&s.id); err != nil {
		return err
	}
	l.streams[at.Stream] = s
	p, err := l.place(t, at)
	if err != nil {
		return err
	}
	// Where the place stood is not looked at: to reset is the way out where
	// that is damaged.
	cp := collection.Checkpoint{Cursor: to, Epoch: l.epoch}
	err = t.Row(`SELECT slice_id FROM checkpoints WHERE partition_id = ? AND lane = ?`, p.partition, string(at.Lane)).Scan(&cp.Commit)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := saveCheckpoint(t, p.partition, at, cp); err != nil {
		return err
	}
	if err := forgetMarks(t, s, p.partition, at.Partition == ""); err != nil {
		return err
	}
	owed, args := `WHERE g.partition_id = ? AND g.lane = ?`, []any{p.partition, string(at.Lane)}
	if at.Partition == "" {
		if err := l.resetPartitions(t, s, at.Lane, to); err != nil {
			return err
		}
		owed, args = `WHERE g.stream_id = ? AND g.lane = ?`, []any{s.id, string(at.Lane)}
	}
	if err := lanes.Recount(t, s.id, at.Lane); err != nil {
		return err
	}
	gaps, err := gapsWhere(t, owed+` AND g.state IN ('open', 'leased', 'dead')`, args...)
	if err != nil {
		return err
	}
	if err := l.closeGaps(t, collection.GapSuperseded, gaps); err != nil {
		return err
	}
	return l.record(t, collection.Event{
		Kind: collection.CheckpointReset, Stream: at.Stream, Partition: at.Partition, Lane: at.Lane,
		Message: audit.Who + ": " + audit.Why,
	})
}

// forgetMarks forgets which versions the records of a partition have, or those
// of the whole stream. Who resets a walk wants what it brings, also where the
// provider once said of a record that it is of the year 9999.
func forgetMarks(t database.Tx, s *stream, partition int64, all bool) error {
	// A record that was changed by a disk keeps its sum, and is found out.
	return t.Exec(`UPDATE records SET mark_scale = '', mark = '', sum = record_sum(stream_id, partition_id, slice_id, key, data)
		WHERE stream_id = ?1 AND (?3 OR partition_id = ?2) AND mark_scale <> ''
			AND sum = record_sum(stream_id, partition_id, slice_id, key, data, mark_scale, mark)`, s.id, partition, all)
}

// resetPartitions moves every checkpoint of the lane of a stream. What stood for
// a parent that no partition could be made of has none any more: nothing walks
// there, so that it would stay unfinished for good.
func (l *ledger) resetPartitions(t database.Tx, s *stream, lane collection.Lane, to collection.Cursor) error {
	err := t.Exec(`DELETE FROM checkpoints
		WHERE partition_id IN (SELECT id FROM partitions WHERE stream_id = ?1 AND substr(partition, 1, length(?2)) = ?2) AND lane = ?3`,
		s.id, collection.UnmadePrefix, string(lane))
	if err != nil {
		return err
	}
	args := append(format.CursorArgs(to), to.Digest(), l.epoch, format.Time(t.Now), s.id, string(lane))
	return t.Exec(`UPDATE checkpoints SET token = ?, since = ?, high = ?, version = ?, done = ?, meaning = ?, digest = ?,
			epoch = ?, saved_at = ?, evidence = ''
		WHERE partition_id IN (SELECT id FROM partitions WHERE stream_id = ?) AND lane = ?`, args...)
}

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"collect/collection"
	"collect/store"
	"collect/store/internal/checkpoints"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/gaps"
	"collect/store/internal/lanes"
	"collect/store/internal/records"
	"collect/store/internal/streams"
)

// Reset moves the checkpoint of a place by hand; see store.Store. The commits
// of the place keep their chain: the next one names the last as its
// predecessor, and the event stands between them.
func (s *Store) Reset(ctx context.Context, connector string, at collection.Place, to collection.Cursor, audit store.Audit) error {
	var known bool
	_, err := s.readers.One(ctx, []any{&known}, `SELECT EXISTS (SELECT 1 FROM streams WHERE connector = ? AND name = ?)`, connector, at.Stream)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("reset: %s has no stream %q", connector, at.Stream)
	}
	err = s.operate(ctx, connector, audit, func(l *lease, t database.Tx) error { return l.reset(t, at, to, audit) })
	if err != nil {
		return fmt.Errorf("reset %s: %w", connector, err)
	}
	return nil
}

// Override changes the state of a pacing domain; see store.Store.
func (s *Store) Override(ctx context.Context, connector, domain string, edit store.Edit, audit store.Audit, events ...collection.Event) error {
	err := s.operate(ctx, connector, audit, func(l *lease, t database.Tx) error {
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
			events[n-1].Message = audit.String()
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
func (s *Store) operate(ctx context.Context, connector string, audit store.Audit, change func(*lease, database.Tx) error) error {
	lock, err := s.take(ctx, connector)
	if err != nil {
		return err
	}
	l := &lease{Author: events.Author{Connector: connector}}
	err = s.writer.Update(ctx, func(t database.Tx) error {
		if err := l.take(t, audit.Holder); err != nil {
			return err
		}
		if err := l.takeOver(t, s.unsaidOf(connector)); err != nil {
			return err
		}
		if err := change(l, t); err != nil {
			return err
		}
		return l.end(t)
	}, l.tookEffect)
	return errors.Join(err, lock.Release())
}

// reset moves the checkpoint of a place, whatever it is.
func (l *lease) reset(t database.Tx, at collection.Place, to collection.Cursor, audit store.Audit) error {
	p, err := l.moveBack(t, at, to, at.Partition == "")
	if err != nil {
		return err
	}
	if err := lanes.Recount(t, p.StreamID, at.Lane); err != nil {
		return err
	}
	return l.record(t, collection.Event{
		Kind: collection.CheckpointReset, Stream: at.Stream, Partition: at.Partition, Lane: at.Lane,
		Message: audit.String(),
	})
}

// moveBack moves the checkpoint of a place, or those of the whole lane of its
// stream, so that what is delivered from there on is stored, and closes the gaps.
// The partitions of the lane are to be counted anew.
func (l *lease) moveBack(t database.Tx, at collection.Place, to collection.Cursor, all bool) (p gaps.Place, err error) {
	p.Place = at
	if p.StreamID, err = streams.Find(t, l.Connector, at.Stream); err != nil {
		return p, err
	}
	if p.PartitionID, err = checkpoints.Partition(t, p.StreamID, at.Partition); err != nil {
		return p, err
	}
	// Where the place stood is not looked at: to reset is the way out where
	// that is damaged.
	cp := collection.Checkpoint{Cursor: to, Epoch: l.epoch}
	err = t.Row(`SELECT slice_id FROM checkpoints WHERE partition_id = ? AND lane = ?`, p.PartitionID, string(at.Lane)).Scan(&cp.Commit)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return p, err
	}
	if err := checkpoints.Save(t, p.PartitionID, at, cp); err != nil {
		return p, err
	}
	if err := records.ForgetMarks(t, p.StreamID, p.PartitionID, all); err != nil {
		return p, err
	}
	if all {
		if err := records.ForgetClaims(t, p.StreamID); err != nil {
			return p, err
		}
		if err := checkpoints.ResetAll(t, p.StreamID, at.Lane, to, l.epoch); err != nil {
			return p, err
		}
	}
	return p, l.book().Supersede(t, p, all)
}

// Redo has places walked from the start; see store.Store. It says with no event of
// its own that checkpoints moved: the next run may go on only as what collected the
// records so far, which after a reset need not be so.
func (s *Store) Redo(ctx context.Context, connector string, due []collection.Gap, audit store.Audit) (opened []collection.Gap, err error) {
	err = s.operate(ctx, connector, audit, func(l *lease, t database.Tx) error {
		type lane struct {
			stream int64
			name   collection.Lane
		}
		moved := map[lane]bool{}
		for _, gap := range due {
			gap.Cursor = collection.Cursor{}
			p, err := l.moveBack(t, gap.Place, gap.Cursor, false)
			if err != nil {
				return err
			}
			if gap, err = l.book().Defer(t, p, gap, false, false); err != nil {
				return err
			}
			opened, moved[lane{p.StreamID, gap.Lane}] = append(opened, gap), true
		}
		for of := range moved {
			if err := lanes.Recount(t, of.stream, of.name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("have places of %s walked again: %w", connector, err)
	}
	return opened, nil
}

// Revive opens gaps that are dead, by hand; see store.Store. When each was
// tried last stays known, by which one that was revived is told from one that
// was never tried.
func (s *Store) Revive(ctx context.Context, connector string, dead []int64, audit store.Audit) ([]collection.Gap, error) {
	return s.orderGaps(ctx, "revive", connector, dead, audit, gaps.Book.Revive)
}

// Waive gives up gaps, by hand; see store.Store.
func (s *Store) Waive(ctx context.Context, connector string, owed []int64, audit store.Audit) ([]collection.Gap, error) {
	return s.orderGaps(ctx, "waive", connector, owed, audit, gaps.Book.Waive)
}

// orderGaps gives an order on gaps, and returns those that it changed.
func (s *Store) orderGaps(ctx context.Context, what, connector string, ids []int64, audit store.Audit,
	order func(gaps.Book, database.Tx, int64, store.Audit) (collection.Gap, error)) (changed []collection.Gap, err error) {
	err = s.operate(ctx, connector, audit, func(l *lease, t database.Tx) error {
		for _, id := range ids {
			gap, err := order(l.book(), t, id, audit)
			if errors.Is(err, sql.ErrNoRows) {
				continue // it has ended, or the order is not for it
			}
			if err != nil {
				return err
			}
			changed = append(changed, gap)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s gaps of %s: %w", what, connector, err)
	}
	return changed, nil
}

// AcceptSchema lets fields of a stream be what they were not before; see
// store.Store.
func (s *Store) AcceptSchema(ctx context.Context, connector, name string, fields map[string]collection.JSONKind, audit store.Audit) (revived []collection.Gap, err error) {
	err = s.operate(ctx, connector, audit, func(l *lease, t database.Tx) error {
		id, err := streams.Find(t, connector, name)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%s has no stream %q", connector, name)
		}
		if err != nil {
			return err
		}
		if err := streams.Accept(t, id, fields); err != nil {
			return err
		}
		err = l.record(t, collection.Event{Kind: collection.SchemaAccepted, Stream: name, Message: audit.String()})
		if err != nil {
			return err
		}
		revived, err = l.book().ReviveDrifted(t, id, audit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("accept the schema of %s: %w", connector, err)
	}
	return revived, nil
}

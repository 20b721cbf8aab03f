// Package ledger keeps the promises of package store in a SQL database: what a run
// writes, what an operator orders, and what everybody reads. Each store opens the
// database, and has locks of its own.
package ledger

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/internal/checkpoints"
	"collect/store/internal/database"
	"collect/store/internal/gaps"
	"collect/store/internal/records"
	"collect/store/internal/streams"
)

// A ledger is the write side of a store for one run.
type ledger struct {
	lease
	store *Store
	lock  Lock

	streams  map[string]*streams.Stream // by name; all that were declared
	live     atomic.Int64               // the event with the metrics so far; 0: none
	finished atomic.Bool

	trafficBefore collection.Traffic // of all runs before this one

	committing sync.Mutex // guards what the streams know
}

var _ store.Ledger = (*ledger)(nil)

// Epoch is the number of the lease.
func (l *ledger) Epoch() int64 { return l.epoch }

// stream returns a stream that was declared.
func (l *ledger) stream(name string) (*streams.Stream, error) {
	if s := l.streams[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("connector %s declared no stream %q", l.Connector, name)
}

// number returns the number of a stream that was declared.
func (l *ledger) number(name string) (int64, error) {
	s, err := l.stream(name)
	if err != nil {
		return 0, err
	}
	return s.ID, nil
}

// update runs do in a transaction that counts only while the lease is ours. It
// returns collection.ErrFenced, and writes nothing, if it is not.
func (l *ledger) update(ctx context.Context, do func(database.Tx) error) error {
	return l.write(ctx, database.Patience, l.ours(do))
}

// write runs do, which numbers a write of the lease first, in a transaction, and remembers the
// number if that was acknowledged.
func (l *ledger) write(ctx context.Context, patience time.Duration, do func(database.Tx) error) error {
	var number int64
	err := l.store.writer.UpdateBeside(ctx, patience, func(t database.Tx) error {
		number = l.writes + 1
		return do(t)
	}, l.tookEffect)
	for kept := l.kept.Load(); err == nil && kept < number && !l.kept.CompareAndSwap(kept, number); kept = l.kept.Load() {
		continue
	}
	return err
}

// Checkpoint returns the checkpoint of a place; see store.Ledger.
func (l *ledger) Checkpoint(ctx context.Context, at collection.Place) (collection.Checkpoint, error) {
	states, err := l.Places(ctx, []collection.Place{at})
	if err != nil {
		return collection.Checkpoint{}, err
	}
	return states[0].Checkpoint, nil
}

// Places returns the state of the given places; see store.Ledger.
func (l *ledger) Places(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error) {
	return checkpoints.Read(ctx, l.store.readers, l.number, at)
}

// Parents returns up to n records of parent by key; see store.Ledger.
func (l *ledger) Parents(ctx context.Context, parent string, after string, n int) ([]collection.Parent, error) {
	stream, err := l.number(parent)
	if err != nil {
		return nil, err
	}
	return records.Parents(ctx, l.store.readers, stream, after, n)
}

// Contested returns the contested records of a place; see store.Ledger.
func (l *ledger) Contested(ctx context.Context, at collection.Place) ([]collection.Contest, error) {
	stream, err := l.number(at.Stream)
	if err != nil {
		return nil, err
	}
	return records.Contested(ctx, l.store.readers, stream, at.Partition)
}

// Defer opens gaps, or renews those that are open; see store.Ledger.
func (l *ledger) Defer(ctx context.Context, worked bool, owed ...collection.Gap) ([]collection.Gap, error) {
	if len(owed) == 0 {
		return nil, nil
	}
	deferred := make([]collection.Gap, len(owed))
	err := l.update(ctx, func(t database.Tx) error {
		for i, gap := range owed {
			stream, err := l.stream(gap.Stream)
			if err != nil {
				return err
			}
			partition, err := checkpoints.Partition(t, stream.ID, gap.Partition)
			if err != nil {
				return err
			}
			if err := records.Hold(t, stream, partition, gap.Held); err != nil {
				return err
			}
			if deferred[i], err = l.book().Defer(t, gaps.Place{Place: gap.Place, StreamID: stream.ID, PartitionID: partition}, gap, worked, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return deferred, nil
}

// Lease returns gaps that may be tried; see store.Ledger.
func (l *ledger) Lease(ctx context.Context, lane collection.Lane, names []string, now time.Time, n int) (leased []collection.Gap, err error) {
	numbers := make([]int64, len(names))
	for i, name := range names {
		if numbers[i], err = l.number(name); err != nil {
			return nil, err
		}
	}
	// Mostly there is none, and a transaction is a flush of the disk.
	open, err := l.book().Open(ctx, l.store.readers, l.kept.Load(), lane, numbers)
	if err != nil || !open {
		return nil, err
	}
	err = l.update(ctx, func(t database.Tx) (err error) {
		leased, err = l.book().Lease(t, lane, numbers, now, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return leased, nil
}

// SaveProvider stores what was learned of a pacing domain; see store.Ledger.
func (l *ledger) SaveProvider(ctx context.Context, domain string, state []byte, events ...collection.Event) error {
	return l.update(ctx, func(t database.Tx) error { return l.saveProvider(t, domain, state, events) })
}

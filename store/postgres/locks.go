package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/internal/format"
	"collect/store/internal/ledger"
	"collect/store/postgres/internal/server"
)

// beatEvery is how often a run beats at least.
const beatEvery = 5 * time.Second

// How long Take waits for a lock that another session has.
const (
	unsigned = time.Second            // its holder has not signed the lease yet, or has signed off
	ending   = 250 * time.Millisecond // its holder may have been killed just now: the server takes some milliseconds to notice
)

// locks are the locks of the connectors that this process runs.
type locks struct{ db *server.DB }

// Take locks a connector; see ledger.Locks. Where another session has the lock, its
// lease must have ended.
func (k *locks) Take(ctx context.Context, connector string) (ledger.Lock, error) {
	for begun := time.Now(); ; {
		began := time.Now()
		free, err := k.db.Turns.Hold(ctx, connector)
		if err != nil {
			return nil, err
		}
		if !free {
			run, left, err := k.holder(ctx, connector)
			if err != nil {
				return nil, err
			}
			held := run.ID != ""
			ended := held && left <= 0
			patience := unsigned
			if held {
				patience = ending
			}
			if !ended && time.Since(begun) > patience {
				return nil, &store.HeldError{Run: run, Left: max(0, left)}
			}
			if !ended {
				select {
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-time.After(5 * time.Millisecond):
				}
				continue
			}
		}
		return &lock{db: k.db, connector: connector, start: began}, nil
	}
}

// holder returns what the lease says of its holder, whose run has no id if none holds it, and how long
// it lasts by the clock of the server.
func (k *locks) holder(ctx context.Context, connector string) (run collection.Run, left time.Duration, err error) {
	var id sql.NullString
	var seconds float64
	run.Connector = connector
	_, err = k.db.One(ctx, []any{&id, &run.Holder.Host, &run.Holder.PID, format.TimeTo(&run.StartedAt), format.TimeTo(&run.BeatAt), &seconds},
		`SELECT run, host, pid, since, beat_at, extract(epoch FROM expires_at - clock_timestamp())::double precision FROM leases WHERE connector = ?`, connector)
	run.ID = id.String
	return run, time.Duration(seconds * float64(time.Second)), err
}

// A lock is that of one connector.
type lock struct {
	db        *server.DB
	connector string

	start   time.Time
	renewed atomic.Int64 // when a renewal that succeeded was sent, since start by the monotonic clock
}

// Release gives the lock back.
func (l *lock) Release() error { return l.db.Turns.Drop(l.connector) }

// Abandon lets go of the lock like a process that dies.
func (l *lock) Abandon() error { return l.Release() }

// Room keeps nothing: the disk is the server's. Its write of a verdict finds room where
// that of a slice did, or its administrator is needed all the same.
func (l *lock) Room(int64) error { return nil }

// Beat ends a run whose lease could not be renewed, before it ends: if the next
// beat fails as well, nothing says any more that nobody else runs the connector.
func (l *lock) Beat(began time.Time, err error) error {
	if err == nil {
		l.renewed.Store(int64(began.Sub(l.start)))
		return nil
	}
	since := time.Since(l.start) - time.Duration(l.renewed.Load())
	if since+2*beatEvery < server.Lease || errors.Is(err, collection.ErrFenced) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: the lease could not be renewed for %v: %w", collection.ErrFenced, since.Round(time.Second), err)
}

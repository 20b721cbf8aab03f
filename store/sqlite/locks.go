package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"collect/collection"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/internal/format"
	"collect/store/internal/ledger"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
)

// holderPatience is how long Begin waits for a lock whose holder has not
// signed the lease yet, or has signed off already: both take one commit.
const (
	holderPatience = time.Second
	holderPoll     = 5 * time.Millisecond // and how often it is looked at meanwhile
)

// locks are the locks of the connectors that this process runs.
type locks struct {
	db *connect.DB

	mu   sync.Mutex
	held map[*filelock.Lock]bool
}

// Take locks a connector; see ledger.Locks.
func (k *locks) Take(ctx context.Context, connector string) (ledger.Lock, error) {
	path := disk.LockPath(k.db.File.Path, connector)
	for deadline := time.Now().Add(holderPatience); ; {
		l, err := filelock.Acquire(path)
		if err == nil {
			k.mu.Lock()
			k.held[l] = true
			k.mu.Unlock()
			return lock{k, l}, nil
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return nil, k.db.Classify(err)
		}
		run, signed, err := k.holder(ctx, connector)
		if err != nil {
			return nil, err
		}
		if signed || time.Now().After(deadline) {
			return nil, &store.HeldError{Run: run}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(holderPoll):
		}
	}
}

// A lock is that of one connector.
type lock struct {
	of   *locks
	file *filelock.Lock
}

// Release releases the lock.
func (l lock) Release() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	delete(l.of.held, l.file)
	return l.file.Release()
}

// Abandon lets go of the lock like a process that dies.
func (l lock) Abandon() error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if !l.of.held[l.file] {
		return nil
	}
	delete(l.of.held, l.file)
	return l.file.Abandon()
}

// Room keeps n bytes of the disk in the file of the lock.
func (l lock) Room(n int64) error { return l.file.Room(n) }

// Beat tells how the beat fared: the lock is the kernel's, and has no end.
func (lock) Beat(_ time.Time, err error) error { return err }

// holder returns what the lease says of its holder, and whether it is signed.
func (k *locks) holder(ctx context.Context, connector string) (run collection.Run, signed bool, err error) {
	var id sql.NullString
	run.Connector = connector
	_, err = k.db.One(ctx, []any{&id, &run.Holder.Host, &run.Holder.PID, format.TimeTo(&run.StartedAt), format.TimeTo(&run.BeatAt)},
		`SELECT run, host, pid, since, beat_at FROM leases WHERE connector = ?`, connector)
	run.ID = id.String
	return run, id.Valid, err
}

// abandonAll lets go of all locks like a process that dies.
func (k *locks) abandonAll() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for l := range k.held {
		errs = append(errs, l.Abandon())
	}
	clear(k.held)
	return errors.Join(errs...)
}

// releaseAll lets go of all locks that no run has.
func (k *locks) releaseAll() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for l := range k.held {
		errs = append(errs, l.Release())
	}
	clear(k.held)
	return errors.Join(errs...)
}

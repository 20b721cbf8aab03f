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
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/disk"
	"collect/store/sqlite/internal/format"
)

// holderPatience is how long Begin waits for a lock whose holder has not
// signed the lease yet, or has signed off already: both take one commit.
const (
	holderPatience = time.Second
	holderPoll     = 5 * time.Millisecond // and how often it is looked at meanwhile
)

// locks are the locks of the connectors that this process runs.
type locks struct {
	db *database.DB

	mu   sync.Mutex
	held map[*filelock.Lock]bool
}

// take locks a connector. It returns a *store.HeldError if a run has it, and
// database.ErrReadOnly where nothing can be run.
func (k *locks) take(ctx context.Context, connector string) (*filelock.Lock, error) {
	if k.db.Writer == nil {
		return nil, database.ErrReadOnly
	}
	path := disk.LockPath(k.db.File.Path, connector)
	for deadline := time.Now().Add(holderPatience); ; {
		l, err := filelock.Acquire(path)
		if err == nil {
			k.mu.Lock()
			k.held[l] = true
			k.mu.Unlock()
			return l, nil
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

// drop releases a lock.
func (k *locks) drop(l *filelock.Lock) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.held, l)
	return l.Release()
}

// holder returns what the lease says of its holder, and whether it is signed.
func (k *locks) holder(ctx context.Context, connector string) (run collection.Run, signed bool, err error) {
	var id sql.NullString
	run.Connector = connector
	_, err = k.db.One(ctx, []any{&id, &run.Holder.Host, &run.Holder.PID, format.TimeTo(&run.StartedAt), format.TimeTo(&run.BeatAt)},
		`SELECT run, host, pid, since, beat_at FROM leases WHERE connector = ?`, connector)
	run.ID = id.String
	return run, id.Valid, err
}

// abandon lets go of a lock like a process that dies.
func (k *locks) abandon(l *filelock.Lock) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.held[l] {
		return nil
	}
	delete(k.held, l)
	return l.Abandon()
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

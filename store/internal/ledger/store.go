package ledger

import (
	"context"
	"time"

	"collect/store/internal/database"
)

// A Store is a [store.Store] in a database that is open, but for its end.
type Store struct {
	reader
	writer *database.Writer // nil: read-only
	locks  Locks
}

// New returns the store in a database. Without a writer nothing can be changed.
func New(r *database.Readers, w *database.Writer, l Locks) *Store {
	return &Store{reader{r}, w, l}
}

// Locks say which connectors this process runs, so that nobody else runs them.
type Locks interface {
	// Take locks a connector. It returns a *[store.HeldError] if a run has it.
	Take(ctx context.Context, connector string) (Lock, error)
}

// A Lock of a connector is held until it is released or its process dies. It
// does not make a write right: the epoch of the lease does.
type Lock interface {
	// Release lets go of it, after the lease was ended.
	Release() error

	// Abandon lets go of it like a process that dies.
	Abandon() error

	// Room keeps n bytes of the disk for the last write of a run, or gives them back
	// if n is 0. It does nothing where the disk is another machine's.
	Room(n int64) error

	// Beat is told how a beat of the run fared that began at a time of the
	// monotonic clock, and returns what the run is to be told.
	Beat(began time.Time, err error) error
}

// take takes the lock of a connector.
func (s *Store) take(ctx context.Context, connector string) (Lock, error) {
	if s.writer == nil {
		return nil, database.ErrReadOnly
	}
	return s.locks.Take(ctx, connector)
}

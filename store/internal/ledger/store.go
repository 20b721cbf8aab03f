package ledger

import (
	"context"
	"sync"
	"time"

	"collect/collection"
	"collect/store/internal/database"
)

// A Store is a [store.Store] in a database that is open, but for its end.
type Store struct {
	reader
	writer *database.Writer // nil: read-only
	locks  Locks

	unsaid sync.Map // by connector, its newest run of this process whose end could not be written
}

// New returns the store in a database. Without a writer nothing can be changed.
func New(r *database.Readers, w *database.Writer, l Locks) *Store {
	return &Store{reader: reader{r}, writer: w, locks: l}
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

// unsaidOf returns the run of a connector whose end this process could not write; the zero run if
// there is none. Whoever takes the lease next writes it.
func (s *Store) unsaidOf(connector string) collection.Run {
	run, _ := s.unsaid.Load(connector)
	r, _ := run.(collection.Run)
	return r
}

// take takes the lock of a connector.
func (s *Store) take(ctx context.Context, connector string) (Lock, error) {
	if s.writer == nil {
		return nil, database.ErrReadOnly
	}
	return s.locks.Take(ctx, connector)
}

package dst_test

import (
	"context"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// A stage holds a store, in which one history is played after the other. There
// are two: a disk has the real store, and a twin one that does the same in
// memory, many times as fast. What is told of a history is the same on both.
type stage interface {
	props() props                                                          // what is in use in every history
	enter(ctx context.Context, alone bool) (k keeper, own bool, err error) // gives a process a store, alone if it must not be one that others had
	leave(k keeper) error                                                  // takes it back
	unlock()                                                               // frees the lock, whoever has it
	age(d time.Duration) error                                             // makes everything that is stored older
	look() (rest, []commit, error)                                         // reads what is stored, as a stranger would
	sweep(t testing.TB)                                                    // removes what a history left
	another(t testing.TB) stage                                            // one that was never swept
	strike(t testing.TB)                                                   // ends it
}

// A keeper is what these histories need of a store.
type keeper interface {
	Begin(ctx context.Context, run collection.Run, streams []collection.Stream) (store.Ledger, error)
	Provider(ctx context.Context, domain string) ([]byte, error)
	Gaps(ctx context.Context, connector string) ([]store.OwnedGap, error)
	Reset(ctx context.Context, connector string, at collection.Place, to collection.Cursor, audit store.Audit) error
	Revive(ctx context.Context, connector string, gaps []int64, audit store.Audit) ([]collection.Gap, error)
	Waive(ctx context.Context, connector string, gaps []int64, audit store.Audit) ([]collection.Gap, error)
	Override(ctx context.Context, connector, domain string, edit store.Edit, audit store.Audit, events ...collection.Event) error
}

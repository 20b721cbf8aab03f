package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"collect/store"
	"collect/store/sqlite"
)

// An impatient context is over once it was looked at so many times.
type impatient struct {
	context.Context
	looks *atomic.Int32
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (c impatient) Done() <-chan struct{} {
	if c.looks.Add(-1) <= 0 {
		return over
	}
	return nil
}

func (c impatient) Err() error {
	if c.looks.Load() <= 0 {
		return context.Canceled
	}
	return nil
}

// TestOpenThatIsCutShort: a signal while a store is opened says nothing about the
// store, at whatever moment it comes.
func TestOpenThatIsCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cut := 0
	for _, how := range []sqlite.Options{{}, {ReadOnly: true}} {
		for looks := int32(1); ; looks++ {
			c := impatient{context.WithoutCancel(t.Context()), new(atomic.Int32)}
			c.looks.Store(looks)
			db, err := sqlite.Open(c, path, how)
			if err == nil {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				break
			}
			cut++
			if errors.Is(err, store.ErrDamaged) || !errors.Is(err, context.Canceled) {
				t.Errorf("cut short at look %d: %v, want that it was cancelled", looks, err)
			}
			if looks > 1000 {
				t.Fatal("it is never opened")
			}
		}
	}
	if cut < 4 {
		t.Errorf("cut short %d times, want some points in the middle", cut)
	}
}

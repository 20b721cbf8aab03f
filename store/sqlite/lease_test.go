package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"collect/internal/filelock"
	"collect/store"
	"collect/store/sqlite"
)

// TestHeldAndNotSigned: a lock whose holder is not in the database yet, or no
// longer, is waited for, for a while; one whose holder is known is not.
func TestHeldAndNotSigned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	lock := func() *filelock.Lock {
		t.Helper()
		l, err := filelock.Acquire(sqlite.LockPath(path, "acme"))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	soon := 50 * time.Millisecond
	patient, done := context.WithTimeout(t.Context(), 20*time.Second)
	defer done()

	// An operator's hand is not taken for a run that goes on.
	edit := func([]byte) ([]byte, error) { return []byte(`{}`), nil }
	if err := s.Override(patient, "acme", "d", edit, store.Audit{}); err != nil {
		t.Fatal(err)
	}
	held := lock()
	_, err := s.Begin(patient, newRun("acme", "run-1"), streams)
	if who, ok := errors.AsType[*store.HeldError](err); !ok || who.Run.Connector != "acme" || who.Run.ID != "" {
		t.Errorf("the lock stays held: %v, want a *store.HeldError that names no run", err)
	}
	canceled, cancel := context.WithCancel(patient)
	time.AfterFunc(soon, cancel)
	if _, err := s.Begin(canceled, newRun("acme", "run-1"), streams); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v, want %v", err, context.Canceled)
	}
	released := make(chan error)
	time.AfterFunc(soon, func() { released <- held.Release() })
	l, err := s.Begin(patient, newRun("acme", "run-1"), streams)
	if err := errors.Join(err, <-released); err != nil {
		t.Fatalf("the lock is released: %v, want the lease", err)
	}
	for range 100 { // each of them would wait for a second
		_, err = s.Begin(patient, newRun("acme", "run-2"), streams)
		if who, ok := errors.AsType[*store.HeldError](err); !ok || who.Run.ID != "run-1" || who.Run.Holder.PID != 1 {
			t.Fatalf("the lease is held: %v, want a *store.HeldError that names run-1", err)
		}
	}
	if l.Epoch() != 2 {
		t.Errorf("epoch %d, want 2: after the operator nobody else had the lease", l.Epoch())
	}
}

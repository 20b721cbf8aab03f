package sqlite_test

import (
	"errors"
	"testing"
	"time"

	"collect/store"
	"collect/store/sqlite"
)

// copiesOf returns what is noted of the store at path.
func copiesOf(t *testing.T, path string) store.Copies {
	t.Helper()
	s := open(t, path, sqlite.Options{ReadOnly: true})
	defer s.Close()
	c, err := s.Copies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// note keeps when the store at path was copied.
func note(t *testing.T, path string, c store.Copies) {
	t.Helper()
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	if err := s.Note(t.Context(), c); err != nil {
		t.Fatalf("Note: %v", err)
	}
}

// TestNote: the latest time of each kind is kept, and a restore forgets none that is
// later than the backup.
func TestNote(t *testing.T) {
	path, noon := fixture(t, sqlite.Newest()), time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	if got := copiesOf(t, path); got != (store.Copies{}) {
		t.Errorf("nothing was noted, and Copies = %v", got)
	}
	note(t, path, store.Copies{BackedUp: noon})
	backup := backedUp(t, path)
	note(t, path, store.Copies{BackedUp: noon.Add(-time.Hour), Drilled: noon.Add(time.Hour)})
	want := store.Copies{BackedUp: noon, Drilled: noon.Add(time.Hour)}
	if got := copiesOf(t, path); got != want {
		t.Errorf("Copies = %v, want %v", got, want)
	}
	restored(t, path, backup)
	if got := copiesOf(t, path); got != want {
		t.Errorf("after a restore, Copies = %v, want %v", got, want)
	}
}

// TestDrill: it refuses what a restore refuses, works beside a run, and changes nothing.
func TestDrill(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	backup := backedUp(t, path)
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	begin(t, s, "acme", "run-9") // it holds the lease
	before := hashOf(t, path)
	audit := store.Audit{Who: "kim", Why: "a drill"}
	if err := sqlite.Drill(t.Context(), path, backup, audit); err != nil {
		t.Errorf("Drill = %v", err)
	}
	if err := sqlite.Drill(t.Context(), path, path, audit); !errors.Is(err, store.ErrInUse) {
		t.Errorf("Drill of the store itself = %v, want ErrInUse", err)
	}
	write("no database, and longer than nothing")(t, backup)
	if err := sqlite.Drill(t.Context(), path, backup, audit); !errors.Is(err, store.ErrNotDatabase) {
		t.Errorf("Drill of another file = %v, want ErrNotDatabase", err)
	}
	if hashOf(t, path) != before {
		t.Error("a drill changed the store")
	}
	checkFiles(t, path, "state.db", "state.db-shm", "state.db-wal", "state.db.acme.lock")
}

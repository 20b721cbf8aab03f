package sqlite_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

// made makes a store of one run with one record, closed in order.
func made(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	l := begin(t, s, "acme", "run-1")
	mustCommit(t, l, collection.Slice{
		Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, Next: collection.Cursor{Token: "1"},
		Records: childPage(0),
	})
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// look reads the store at path as status and export do, and returns how many
// records it found.
func look(ctx context.Context, path string) (records int, err error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Gaps(ctx, ""); err != nil {
		return 0, err
	}
	states, err := s.Streams(ctx, "acme")
	if err != nil {
		return 0, err
	}
	for _, err := range s.Records(ctx, "acme", "issues") {
		if err != nil {
			return records, err
		}
		records++
	}
	if len(states) == 0 || states[0].Records != int64(records) {
		return records, fmt.Errorf("Streams = %+v, and %d records", states, records)
	}
	return records, nil
}

// hashOf returns the hash of a file that SQLite may have open. Another process
// reads it: closing it in this one would end the locks of SQLite.
func hashOf(t *testing.T, path string) string {
	t.Helper()
	out, err := child(t, "hash", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func childHashes(path string) error {
	data, err := os.ReadFile(path)
	fmt.Printf("%x", sha256.Sum256(data))
	return err
}

// checkLook looks at the store and checks that not a byte of its file changed.
func checkLook(t *testing.T, path string, want int) {
	t.Helper()
	before := hashOf(t, path)
	got, err := look(t.Context(), path)
	if err != nil || got != want {
		t.Errorf("looking finds %d records, %v, want %d", got, err, want)
	}
	if hashOf(t, path) != before {
		t.Error("looking changed the database file")
	}
}

// TestReadOnlyAtRest: looking at a store that no one uses leaves one file. (I22.)
func TestReadOnlyAtRest(t *testing.T) {
	path := made(t)
	checkLook(t, path, 20)
	checkFiles(t, path, "state.db")

	s := open(t, path, sqlite.Options{ReadOnly: true})
	if _, err := s.Begin(t.Context(), newRun("acme", "run-2"), streams); err == nil {
		t.Error("Begin on a store opened to be read succeeded")
	}
	if err := s.Reset(t.Context(), "acme", collection.Place{}, collection.Cursor{}, store.Audit{}); err == nil {
		t.Error("Reset on a store opened to be read succeeded")
	}
	// A run may begin, and end, while someone looks.
	w := open(t, path, sqlite.Options{})
	l := begin(t, w, "acme", "run-2")
	mustCommit(t, l, collection.Slice{
		Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, From: collection.Cursor{Token: "1"},
		Next: collection.Cursor{Token: "2"}, Records: childPage(1),
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if states, err := s.Streams(t.Context(), "acme"); err != nil || states[0].Records != 40 {
		t.Errorf("after the run Streams = %+v, %v, want 40 records", states, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkFiles(t, path, "state.db", "state.db.acme.lock") // of the run that did not finish
}

// TestReadOnlyBesideRun looks while a run writes.
func TestReadOnlyBesideRun(t *testing.T) {
	path := made(t)
	w := open(t, path, sqlite.Options{})
	l := begin(t, w, "acme", "run-2")
	mustCommit(t, l, collection.Slice{
		Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, From: collection.Cursor{Token: "1"},
		Next: collection.Cursor{Token: "2"}, Records: childPage(1),
	})
	checkLook(t, path, 40)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkLook(t, path, 40)
}

// TestReadOnlyAfterKill looks at what a killed run left: its last commits are
// in the WAL only, and stay there.
func TestReadOnlyAfterKill(t *testing.T) {
	slow(t)
	path := filepath.Join(t.TempDir(), "state.db")
	pages := killAfter(t, path, 10)
	wal, err := os.Stat(path + "-wal")
	if err != nil || wal.Size() == 0 {
		t.Fatalf("the killed run left no WAL: %v", err)
	}
	for range 2 {
		before := hashOf(t, path)
		got, err := look(t.Context(), path)
		if err != nil || got/20 < pages || got/20 > pages+1 {
			t.Errorf("looking finds %d records, %v, want those of %d pages", got, err, pages)
		}
		if hashOf(t, path) != before {
			t.Error("looking changed the database file")
		}
		if now, err := os.Stat(path + "-wal"); err != nil || now.Size() != wal.Size() {
			t.Errorf("looking changed the WAL: %v", err)
		}
	}
	// The shared memory may be gone, as after a restart of the machine.
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	if got, err := look(t.Context(), path); err != nil || got/20 < pages {
		t.Errorf("without -shm looking finds %d records, %v, want those of %d pages", got, err, pages)
	}
}

// childReadsUnprivileged looks at a store as a user who may not write where it
// is.
func childReadsUnprivileged(path string) error {
	const nobody = 65534
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return err
	}
	n, err := look(context.Background(), path)
	if err != nil {
		return err
	}
	fmt.Println(n)
	return nil
}

// readable lets everyone read the store at path, and no one but its owner
// write.
func readable(t *testing.T, path string) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for dir := filepath.Dir(path); dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// lookAsNobody returns how many records another user finds, or the error.
func lookAsNobody(t *testing.T, path string) string {
	t.Helper()
	out, err := child(t, "unprivileged", path).Output()
	if err != nil {
		return string(out)
	}
	return strings.TrimSpace(string(out))
}

// TestReadOnlyWhereNotWritable looks from a directory that cannot be written,
// where SQLite can make neither -wal nor -shm.
func TestReadOnlyWhereNotWritable(t *testing.T) {
	slow(t)
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	path := made(t)
	readable(t, path)
	if got := lookAsNobody(t, path); got != "20" {
		t.Errorf("at rest an unprivileged reader finds %q, want 20", got)
	}
	checkFiles(t, path, "state.db")

	// Beside a run of the owner, whose shared memory it may read.
	w := open(t, path, sqlite.Options{})
	l := begin(t, w, "acme", "run-2")
	mustCommit(t, l, collection.Slice{
		Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, From: collection.Cursor{Token: "1"},
		Next: collection.Cursor{Token: "2"}, Records: childPage(1),
	})
	readable(t, path)
	if got := lookAsNobody(t, path); got != "40" {
		t.Errorf("beside a run an unprivileged reader finds %q, want 40", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	// With a WAL that cannot be read without shared memory, it must not show
	// the file alone, which misses the last commits.
	path = filepath.Join(t.TempDir(), "state.db")
	killAfter(t, path, 3)
	readable(t, path)
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	if got := lookAsNobody(t, path); !strings.Contains(got, "error") {
		t.Errorf("with a WAL and no -shm an unprivileged reader finds %q, want an error", got)
	}
}

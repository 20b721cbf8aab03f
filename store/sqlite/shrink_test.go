package sqlite_test

import (
	"errors"
	"os"
	"testing"

	"collect/store"
	"collect/store/sqlite"
)

// A file from which much was removed becomes smaller, and is whole; not while anybody has
// it open.
func TestShrink(t *testing.T) {
	path := made(t)
	records, err := look(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	execute("CREATE TABLE much (data BLOB); INSERT INTO much VALUES (zeroblob(1 << 20)); DROP TABLE much")(t, path)
	before := size(t, path)

	s := open(t, path, sqlite.Options{})
	if spare, err := s.Spare(t.Context()); err != nil || spare < 1<<20 {
		t.Errorf("Spare = %d, %v, want 1 MiB", spare, err)
	}
	if err := sqlite.Shrink(t.Context(), path); !errors.Is(err, store.ErrInUse) || size(t, path) != before {
		t.Errorf("Shrink of a store that is open = %v, and %d bytes of %d, want %v", err, size(t, path), before, store.ErrInUse)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if err := sqlite.Shrink(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if after := size(t, path); after > before-1<<20 {
		t.Errorf("the file took %d bytes and takes %d, want 1 MiB less", before, after)
	}
	checkLook(t, path, records)
	s = open(t, path, sqlite.Options{})
	defer s.Close()
	begin(t, s, "acme", "run-2") // it can be written to
	if spare, err := s.Spare(t.Context()); err != nil || spare != 0 {
		t.Errorf("Spare = %d, %v, want 0", spare, err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

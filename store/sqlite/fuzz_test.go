package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"collect/collection"
	"collect/store/sqlite"
)

// FuzzCursor: a cursor comes back byte for byte, whatever its bytes are, and
// no other cursor passes for it.
func FuzzCursor(f *testing.F) {
	f.Add("page=2", "2026-11-21T10:00:00Z", "", "v1", false)
	f.Add("a\x00b", "\xff\xfe", "'); --", "é", true)
	f.Add(" 1", "1.0", "1e3", "9007199254740993", false)
	s, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "state.db"), sqlite.Options{Create: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	l, err := s.Begin(f.Context(), collection.Run{ID: "run", Connector: "acme"}, []collection.Stream{{Name: "items"}})
	if err != nil {
		f.Fatal(err)
	}
	at := collection.Place{Stream: "items", Lane: collection.Incremental}
	f.Fuzz(func(t *testing.T, token, since, high, version string, done bool) {
		before, err := l.Checkpoint(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		next := collection.Cursor{Token: token, Since: since, High: high, Version: version, Done: done, Meaning: since}
		if _, err := l.Commit(t.Context(), collection.Slice{Place: at, From: before.Cursor, Next: next}); err != nil {
			t.Fatalf("%+v: %v", next, err)
		}
		after, err := l.Checkpoint(t.Context(), at)
		if err != nil || after.Cursor != next {
			t.Errorf("%+v came back as %+v, %v", next, after.Cursor, err)
		}
		other, edited := next, next
		other.Token += "x"
		edited.Meaning += "x"
		for _, other := range []collection.Cursor{other, edited} {
			if _, err := l.Commit(t.Context(), collection.Slice{Place: at, From: other, Next: next}); !errors.Is(err, collection.ErrCursorMoved) {
				t.Errorf("%+v passed for %+v: %v", other, next, err)
			}
		}
	})
}

// FuzzLockPath: two connectors never share a lock, not even where upper and
// lower case are the same, and a lock is a file beside the database.
func FuzzLockPath(f *testing.F) {
	f.Add("github", "GitHub")
	f.Add("a/b", "a%2fb")
	f.Add(strings.Repeat("x", 101), strings.Repeat("x", 32)+"~")
	f.Add("..", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := sqlite.LockPath("/data/state.db", a), sqlite.LockPath("/data/state.db", b)
		if (a == b) != strings.EqualFold(x, y) {
			t.Errorf("%q and %q: %s and %s", a, b, x, y)
		}
		if dir, name := filepath.Split(x); dir != "/data/" || len(name) > 255 || strings.ContainsAny(name, "\x00\\:*?\"<>|") {
			t.Errorf("%q: %q is not a file beside /data/state.db", a, x)
		}
	})
}

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

// takeAway are the ways in which a database can go from its path while it is
// in use.
var takeAway = map[string]func(t *testing.T, path string) error{
	"removed":               func(_ *testing.T, path string) error { return os.Remove(path) },
	"renamed":               func(_ *testing.T, path string) error { return os.Rename(path, path+".old") },
	"removed with its dir":  func(_ *testing.T, path string) error { return os.RemoveAll(filepath.Dir(path)) },
	"replaced by a copy":    replaceBy(func(t *testing.T, path string) { copyFile(t, made(t), path) }),
	"replaced by nothing":   replaceBy(write("")),
	"removed with all else": func(_ *testing.T, path string) error { return removeAll(path, path+"-wal", path+"-shm") },
}

// replaceBy puts what prepare makes in the place of a file.
func replaceBy(prepare func(*testing.T, string)) func(*testing.T, string) error {
	return func(t *testing.T, path string) error {
		other := filepath.Join(t.TempDir(), "other.db")
		prepare(t, other)
		return os.Rename(other, path)
	}
}

func removeAll(paths ...string) (err error) {
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// TestTakenAway takes the file away under a run. No write succeeds from then
// on, and the run cannot be finished: whatever was written now would be lost
// with the last descriptor of the file.
func TestTakenAway(t *testing.T) {
	slow(t)
	for how, take := range takeAway {
		t.Run(how, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in", "state.db")
			s := open(t, path, sqlite.Options{Create: true})
			defer s.Close() // it may complain that its files are gone
			l := begin(t, s, "acme", "run-1")
			mustCommit(t, l, collection.Slice{Place: faultPlace, Next: collection.Cursor{Token: "2"}})
			if err := take(t, path); err != nil {
				t.Fatal(err)
			}
			var before string
			if _, err := os.Stat(path); err == nil {
				before = hashOf(t, path)
			}
			for _, name := range []string{"Commit", "Defer", "SaveProvider", "Beat", "Begin", "Override", "Finish", "Finish"} {
				err := writes[name](t, s, l)
				if !errors.Is(err, store.ErrMissing) || errors.Is(err, collection.ErrUnknown) {
					t.Errorf("%s: error = %v, want %v", name, err, store.ErrMissing)
					continue
				}
				if text := err.Error(); !strings.Contains(text, "was removed or replaced while in use") || !strings.Contains(text, path) {
					t.Errorf("%s: error = %q, want one that says what became of %s", name, text, path)
				}
			}
			if before != "" && hashOf(t, path) != before {
				t.Error("the file that took its place was written to")
			}
		})
	}
}

// TestPutBack: a file that returns to its path is the one that was opened.
func TestPutBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := l.Beat(t.Context(), time.Now(), collection.Tally{}, collection.Metrics{}); !errors.Is(err, store.ErrMissing) {
		t.Errorf("Beat: error = %v, want %v", err, store.ErrMissing)
	}
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
		t.Errorf("Finish after the file came back: %v", err)
	}
}

// TestCutWAL cuts the WAL short under a reader: SQLite calls that a disk I/O
// error. It is damage, unless the whole store went away.
func TestCutWAL(t *testing.T) {
	for _, gone := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "state.db")
		s := open(t, path, sqlite.Options{Create: true})
		defer s.Close() // it may complain of the damage
		begin(t, s, "acme", "run-1")
		r := open(t, path, sqlite.Options{ReadOnly: true})
		defer r.Close()
		want := store.ErrDamaged
		if gone {
			want = store.ErrMissing
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(path+"-wal", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Streams(t.Context(), "acme"); !errors.Is(err, want) {
			t.Errorf("gone %t: error = %v, want %v", gone, err, want)
		}
	}
}

// childIsDenied opens the store at path as a user who owns nothing, to make or
// write it and to read it, and says what came of it.
func childIsDenied(path string) error {
	const nobody = 65534
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return err
	}
	ctx := context.Background()
	for _, o := range []sqlite.Options{{Create: true}, {}, {ReadOnly: true}} {
		s, err := sqlite.Open(ctx, path, o)
		if err == nil {
			if !o.ReadOnly {
				_, err = s.Begin(ctx, newRun("acme", "run-2"), streams)
			}
			defer s.Close()
		}
		switch {
		case err == nil:
			fmt.Println("opened")
		case errors.Is(err, store.ErrNoAccess) && strings.Contains(err.Error(), path):
			fmt.Println("no access")
		case errors.Is(err, store.ErrMissing):
			fmt.Println("missing")
		default:
			fmt.Println(err)
		}
	}
	return nil
}

// TestNoAccess opens stores that the user may not write, read, or make.
func TestNoAccess(t *testing.T) {
	slow(t)
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	cases := []struct {
		name string      // beside a store state.db
		mode os.FileMode // of the store
		want string      // when made, written and read
	}{
		{"state.db", 0o644, "no access, no access, opened"},
		{"state.db", 0o600, "no access, no access, no access"},
		{"new.db", 0o644, "no access, missing, missing"},
		{"a/new.db", 0o644, "no access, missing, missing"},
	}
	for _, c := range cases {
		path := made(t)
		readable(t, path)
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		out, err := child(t, "denied", filepath.Join(filepath.Dir(path), c.name)).Output()
		if got := strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", ", "); err != nil || got != c.want {
			t.Errorf("%s beside a store of mode %#o: %q, %v, want %q", c.name, c.mode, got, err, c.want)
		}
	}
}

// TestBelowAFile names a path that cannot be, because its directory is a file.
func TestBelowAFile(t *testing.T) {
	path := filepath.Join(made(t), "state.db")
	for _, o := range []sqlite.Options{{Create: true}, {}, {ReadOnly: true}} {
		if s, err := sqlite.Open(t.Context(), path, o); !errors.Is(err, store.ErrNoAccess) || !strings.Contains(err.Error(), path) {
			t.Errorf("%+v: %v, error = %v, want %v with the path", o, s, err, store.ErrNoAccess)
		}
	}
}

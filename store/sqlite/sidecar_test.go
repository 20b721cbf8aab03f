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

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// childJoins opens the store at path, begins a run of another connector and
// commits a page, and says what came of it.
func childJoins(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if errors.Is(err, store.ErrInUse) {
		fmt.Println("in use")
		return nil
	}
	if err != nil {
		return err
	}
	l, err := s.Begin(ctx, newRun("other", "run-other"), streams)
	if err != nil {
		return err
	}
	if _, err := l.Commit(ctx, collection.Slice{Place: issues, Next: pageCursor(1), Records: childPage(0)}); err != nil {
		return err
	}
	fmt.Println("committed")
	return errors.Join(l.Finish(ctx, collection.Run{Outcome: collection.Complete}), s.Close())
}

// TestLogTakenAway takes the log, or the shared memory, away under a run, with
// and without somebody who makes a new one. Two processes that do not share
// them do not see each other's locks: the run writes nothing from then on,
// another does not begin, and nothing that was acknowledged is lost.
func TestLogTakenAway(t *testing.T) {
	slow(t)
	for _, ends := range [][]string{{"-shm"}, {"-wal"}, {"-wal", "-shm"}} {
		for _, how := range []string{"removed", "replaced"} {
			t.Run(strings.Join(ends, " ")+" "+how, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "state.db")
				s := open(t, path, sqlite.Options{Create: true})
				l := begin(t, s, "acme", "run-1")
				for n := range 3 {
					mustCommit(t, l, collection.Slice{Place: issues, From: pageCursor(n), Next: pageCursor(n + 1), Records: childPage(n)})
				}
				for _, end := range ends {
					if err := os.Remove(path + end); err != nil {
						t.Fatal(err)
					}
					if how == "replaced" {
						write("")(t, path+end)
					}
				}
				if how == "removed" {
					out, err := child(t, "joins", path).Output()
					if err != nil || string(out) != "in use\n" {
						t.Errorf("another begins: %s, %v, want it to be refused", out, err)
					}
				}
				_, err := l.Commit(t.Context(), collection.Slice{Place: issues, From: pageCursor(3), Next: pageCursor(4), Records: childPage(3)})
				if !errors.Is(err, store.ErrLogGone) || !errors.Is(err, store.ErrMissing) {
					t.Errorf("Commit: %v, want %v", err, store.ErrLogGone)
				}
				_ = l.Finish(t.Context(), collection.Run{}) // it says so again
				_ = s.Close()                               // that its files are gone
				if how == "replaced" {
					return // what the log held is in nobody's reach
				}
				out, err := child(t, "joins", path).Output()
				if err != nil || string(out) != "committed\n" {
					t.Errorf("another begins afterwards: %s, %v", out, err)
				}
				report, err := salvage.Examine(t.Context(), path)
				if err != nil || len(report.Problems) > 0 {
					t.Errorf("Examine = %q, %v, want no problem", report.Problems, err)
				}
				s = open(t, path, sqlite.Options{})
				defer s.Close()
				checkRecords(t, s, "acme", "issues", slicesOf(childPage(0), childPage(1), childPage(2)))
			})
		}
	}
}

func slicesOf(pages ...[]collection.Record) (all []collection.Record) {
	for _, page := range pages {
		all = append(all, page...)
	}
	return all
}

// childIsUser opens the store at path to write it, as a user who owns it.
func childIsUser(path string) error {
	const nobody = 65534
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
		return err
	}
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		_, err = s.Begin(context.Background(), newRun("acme", fmt.Sprint("run-", os.Getpid())), streams)
		defer s.Close()
	}
	if errors.Is(err, store.ErrNoAccess) {
		fmt.Println("no access")
		return nil
	}
	if err == nil {
		fmt.Println("opened")
	}
	return err
}

// TestReadOnlyFile: a database that its owner may not write leaves nothing
// behind that is in the way when the owner may.
func TestReadOnlyFile(t *testing.T) {
	slow(t)
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	const nobody = 65534
	for _, leftover := range []bool{false, true} {
		path := fixture(t, sqlite.Newest())
		dir := filepath.Dir(path)
		readable(t, path)
		if err := errors.Join(os.Chown(dir, nobody, nobody), os.Chown(path, nobody, nobody), os.Chmod(path, 0o444)); err != nil {
			t.Fatal(err)
		}
		if leftover { // by an earlier version, or another program
			for _, end := range []string{"-wal", "-shm"} {
				write("")(t, path+end)
				if err := errors.Join(os.Chown(path+end, nobody, nobody), os.Chmod(path+end, 0o444)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if out, err := child(t, "user", path).Output(); err != nil || string(out) != "no access\n" {
			t.Errorf("of mode 0444: %s, %v, want no access", out, err)
		}
		if !leftover {
			checkFiles(t, path, "state.db")
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := child(t, "user", path).Output(); err != nil || string(out) != "opened\n" {
			t.Errorf("of mode 0600 afterwards, leftover %t: %s, %v, want it opened", leftover, out, err)
		}
	}
}

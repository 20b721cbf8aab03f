package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/sqlite"
)

// The test binary started with childJob set does that job instead of running
// tests: some promises are about processes.
const childJob = "COLLECT_TEST_JOB"

func TestMain(m *testing.M) {
	job, args := os.Getenv(childJob), os.Args
	if job == "" {
		os.Exit(m.Run())
	}
	do, ok := map[string]func(path string) error{
		"backup":       childBacksUp,
		"collect":      childCollects,
		"denied":       childIsDenied,
		"joins":        childJoins,
		"user":         childIsUser,
		"fill":         childFills,
		"hash":         childHashes,
		"migrate":      childMigrates,
		"open":         childOpens,
		"race":         childRaces,
		"restore":      childRestores,
		"revive":       childRevives,
		"unprivileged": childReadsUnprivileged,
	}[job]
	if !ok {
		panic("no job " + job)
	}
	if err := do(args[1]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child returns a process that will do job with the store at path.
func child(t *testing.T, job, path string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, path)
	cmd.Env = append(os.Environ(), childJob+"="+job)
	cmd.Stderr = os.Stderr
	return cmd
}

// childCollects commits pages until it is killed, and prints each that was
// acknowledged.
func childCollects(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{Create: true})
	if err != nil {
		return err
	}
	l, err := s.Begin(ctx, newRun("acme", fmt.Sprint("run-", os.Getpid())), streams)
	if err != nil {
		return err
	}
	at := collection.Place{Stream: "issues", Lane: collection.Incremental}
	cp, err := l.Checkpoint(ctx, at)
	if err != nil {
		return err
	}
	for n, _ := strconv.Atoi(cp.Token); ; n++ {
		next := collection.Cursor{Token: strconv.Itoa(n + 1)}
		// Each page opens a gap and closes the one before it.
		if _, err := l.Defer(ctx, false, collection.Gap{Place: at, Cursor: cp.Cursor, Reason: collection.RequestCap}); err != nil {
			return err
		}
		if _, err := l.Commit(ctx, collection.Slice{Place: at, From: cp.Cursor, Next: next, Records: childPage(n)}); err != nil {
			return err
		}
		cp.Cursor = next
		fmt.Println(n + 1)
	}
}

// childPage returns the records of page n.
func childPage(n int) (records []collection.Record) {
	for i := range 20 {
		records = append(records, collection.Record{
			Key: fmt.Sprintf("%06d-%02d", n, i), Data: fmt.Appendf(nil, `{"page":%d,"i":%d}`, n, i),
		})
	}
	return records
}

// TestKilled kills a run with SIGKILL again and again. Each time the next
// process gets the lease at once, finds every page that was acknowledged, and
// nothing of one that was not begun. (I1, I2, I3, I7.)
func TestKilled(t *testing.T) {
	slow(t)
	path := filepath.Join(t.TempDir(), "state.db")
	acknowledged := 0
	for round := range 8 {
		acknowledged = max(acknowledged, killAfter(t, path, 5+7*round))

		s := open(t, path, sqlite.Options{})
		l := begin(t, s, "acme", fmt.Sprint("check-", round))
		checkPages(t, s, l, acknowledged)
		runs, err := s.Runs(t.Context(), "acme", 2)
		if err != nil || runs[1].Outcome != collection.Abandoned {
			t.Errorf("round %d: the killed run = %+v, %v, want it abandoned", round, runs[1], err)
		}
		if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		checkFiles(t, path, "state.db")
	}
}

// killAfter lets a child collect until it has acknowledged so many pages,
// kills it, and returns the last page that it acknowledged.
func killAfter(t *testing.T, path string, pages int) (last int) {
	t.Helper()
	cmd := child(t, "collect", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); pages-- {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatalf("the child says %q", lines.Text())
		}
		last = n
		if pages == 1 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return last
}

// checkPages checks that the store holds the pages before its checkpoint, and
// at least those that were acknowledged.
func checkPages(t *testing.T, s *sqlite.Store, l store.Ledger, acknowledged int) {
	t.Helper()
	cp, err := l.Checkpoint(t.Context(), collection.Place{Stream: "issues", Lane: collection.Incremental})
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := strconv.Atoi(cp.Token)
	if pages < acknowledged || pages > acknowledged+1 {
		t.Errorf("the checkpoint is at page %d, and %d were acknowledged", pages, acknowledged)
	}
	n := 0
	for r, err := range s.Records(t.Context(), "acme", "issues") {
		if err != nil {
			t.Fatal(err)
		}
		want := childPage(n / 20)[n%20]
		if r.Key != want.Key || string(r.Data) != string(want.Data) {
			t.Fatalf("record %d = %s %s, want %s %s", n, r.Key, r.Data, want.Key, want.Data)
		}
		n++
	}
	if n != pages*20 {
		t.Errorf("%d records before page %d, want %d", n, pages, pages*20)
	}
	gaps, err := s.Gaps(t.Context(), "acme")
	if err != nil || len(gaps) > 1 || len(gaps) == 1 && gaps[0].Cursor != cp.Cursor {
		t.Errorf("Gaps = %+v, %v, want none behind the checkpoint", gaps, err)
	}
}

// checkFiles checks which files are in the directory of path.
func checkFiles(t *testing.T, path string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("files = %q, want %q", got, want)
	}
}

// TestTakeOver kills the holder without its process: its lock file is removed
// by hand while it lives. The epoch then keeps it from writing. (I6.)
func TestTakeOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	old, s := open(t, path, sqlite.Options{Create: true}), open(t, path, sqlite.Options{Create: true})
	defer old.Close()
	defer s.Close()
	stale := begin(t, old, "acme", "run-1")
	if err := os.Remove(sqlite.LockPath(path, "acme")); err != nil {
		t.Fatal(err)
	}
	l := begin(t, s, "acme", "run-2")
	at := collection.Place{Stream: "issues", Lane: collection.Incremental}
	mustCommit(t, l, collection.Slice{Place: at, Next: collection.Cursor{Token: "2"}})

	sl := collection.Slice{Place: at, From: collection.Cursor{Token: "2"}, Next: collection.Cursor{Token: "3"}}
	if _, err := stale.Commit(t.Context(), sl); !errors.Is(err, collection.ErrFenced) {
		t.Errorf("Commit of the old holder: error = %v, want %v", err, collection.ErrFenced)
	}
	if err := stale.Finish(t.Context(), collection.Run{}); !errors.Is(err, collection.ErrFenced) {
		t.Errorf("Finish of the old holder: error = %v, want %v", err, collection.ErrFenced)
	}
	// Nor does its end free the lock of its successor.
	if _, err := old.Begin(t.Context(), newRun("acme", "run-3"), streams); err == nil {
		t.Error("a third run got the lease")
	}
	mustCommit(t, l, sl)
}

// childOpens opens the store, which makes its schema, and closes it.
func childOpens(path string) error {
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{Create: true})
	if err != nil {
		return err
	}
	return s.Close()
}

// TestFirstStarts starts many processes on no store at once: one makes it, and
// none fails.
func TestFirstStarts(t *testing.T) {
	slow(t)
	for _, starts := range []int{6, 6, 80} {
		path := filepath.Join(t.TempDir(), "made", "by", "the first", "state?#%20.db")
		var started []*exec.Cmd
		for range starts {
			cmd := child(t, "open", path)
			cmd.Stdout = os.Stdout
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			started = append(started, cmd)
		}
		for _, cmd := range started {
			if err := cmd.Wait(); err != nil {
				t.Errorf("a first start: %v", err)
			}
		}
		checkFiles(t, path, filepath.Base(path))
	}
}

// childRaces takes and removes a lock 200 times. While it has it, it is the
// only writer of the file beside it.
func childRaces(path string) error {
	for range 200 {
		l, err := filelock.Acquire(path)
		if errors.Is(err, filelock.ErrLocked) {
			time.Sleep(time.Duration(os.Getpid()%7) * 10 * time.Microsecond)
			continue
		}
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path+".busy", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("two holders: %w", err)
		}
		f.Close()
		if err := os.Remove(path + ".busy"); err != nil {
			return err
		}
		fmt.Println("held")
		if err := l.Release(); err != nil {
			return err
		}
	}
	return nil
}

// TestLockRace removes and takes a lock from many processes at once. Never do
// two have it.
func TestLockRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "race.lock")
	var started []*exec.Cmd
	var outputs []io.Reader
	for range 4 {
		cmd := child(t, "race", path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		started, outputs = append(started, cmd), append(outputs, out)
	}
	holds := 0
	for i, cmd := range started {
		for lines := bufio.NewScanner(outputs[i]); lines.Scan(); {
			if lines.Text() != "held" {
				t.Errorf("process %d: %s", i, lines.Text())
			}
			holds++
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
	}
	if holds < 200 {
		t.Errorf("the lock was held %d times: no race took place", holds)
	}
}

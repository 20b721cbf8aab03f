package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// flips is how many damaged databases TestFlippedBytes makes of each kind.
var flips = flag.Int("flips", 15, "databases with a flipped byte, of each kind")

// contentOf is all that must not change in silence: records by stream, in the
// order of their keys.
type contentOf map[string][]string

// wide are the streams of a damaged database, in the order declared.
var wide = []string{"issues", "comments"}

// childFills makes a database with records of many sizes, short and longer
// than a page, in partitions, and is killed with commits in the log.
func childFills(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, sqlite.Options{Create: true})
	if err != nil {
		return err
	}
	for run := range 2 {
		l, err := s.Begin(ctx, newRun("acme", fmt.Sprint("run-", run)), streams)
		if err != nil {
			return err
		}
		if err := fillWide(ctx, l, run*6, 6); err != nil {
			return err
		}
		if run == 1 {
			fmt.Println("filled")
			select {} // until it is killed
		}
		if err := l.Finish(ctx, collection.Run{Outcome: collection.Complete}); err != nil {
			return err
		}
		if err := s.Close(); err != nil { // merges the log
			return err
		}
		if s, err = sqlite.Open(ctx, path, sqlite.Options{}); err != nil {
			return err
		}
	}
	return nil
}

// fillWide commits n pages of issues from page first on, and comments of each.
func fillWide(ctx context.Context, l store.Ledger, first, n int) error {
	rnd := rand.New(rand.NewPCG(1, uint64(first)))
	for page := first; page < first+n; page++ {
		sl := collection.Slice{Place: issues, From: pageCursor(page), Next: pageCursor(page + 1)}
		for i := range 40 {
			size := []int{0, 20, 200, 900, 5000, 9000}[rnd.IntN(6)]
			data := fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat(string(rune('a'+i%26)), size))
			sl.Records = append(sl.Records, collection.Record{Key: fmt.Sprintf("%04d-%02d", page, i), Data: []byte(data)})
		}
		if page > 0 { // a version that is replaced
			sl.Records = append(sl.Records, collection.Record{Key: "0000-00", Data: fmt.Appendf(nil, `{"page":%d}`, page)})
		}
		detail := comments
		detail.Partition = collection.Partition(fmt.Sprintf(`{"id":"%04d"}`, page))
		done := collection.Slice{
			Place: detail, Next: collection.Cursor{Done: true},
			Records: []collection.Record{{Key: fmt.Sprint("c", page), Data: fmt.Appendf(nil, `{"c":%d}`, page)}},
		}
		if _, err := l.Commit(ctx, sl, done); err != nil {
			return err
		}
	}
	gap := collection.Gap{Place: issues, Cursor: pageCursor(first + n), Reason: collection.RequestCap}
	_, err := l.Defer(ctx, false, gap)
	return err
}

// killed makes a database whose run was killed with commits in its log.
func killed(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.db")
	cmd := child(t, "fill", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("filled\n"))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return path
}

// exported reads a database as an export does.
func exported(ctx context.Context, path string) (all contentOf, err error) {
	if err := salvage.CheckLog(path); err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	states, err := s.Streams(ctx, "acme")
	if err != nil {
		return nil, err
	}
	all = contentOf{}
	for _, name := range wide {
		if !slices.ContainsFunc(states, func(st store.StreamState) bool { return st.Name == name }) {
			return nil, fmt.Errorf("no stream %s", name)
		}
		for r, err := range s.Records(ctx, "acme", name) {
			if err != nil {
				return nil, err
			}
			all[name] = append(all[name], r.Key+"="+string(r.Data))
		}
	}
	return all, nil
}

// walked reads where a run would go on, and what is owed. It may change the
// database.
func walked(ctx context.Context, path string) (all contentOf, err error) {
	if err := salvage.CheckLog(path); err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer s.Close() // the errors of a damaged database say nothing new
	gaps, err := s.Gaps(ctx, "acme")
	if err != nil {
		return nil, err
	}
	l, err := s.Begin(ctx, newRun("acme", "run-9"), streams)
	if err != nil {
		return nil, err
	}
	cp, err := l.Checkpoint(ctx, issues)
	if err != nil {
		return nil, err
	}
	return contentOf{"at": {fmt.Sprintf("%+v", cp.Cursor)}, "gaps": {fmt.Sprint(len(gaps))}}, nil
}

// salvaged reads what a salvage finds, in the order of the keys.
func salvaged(ctx context.Context, path string) (all contentOf, err error) {
	s, err := salvage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	all = contentOf{}
	for _, stream := range s.Streams() {
		name := stream[1]
		if i := slices.Index([]string{"1", "2"}, name); stream[0] == "lost" && i >= 0 {
			name = wide[i]
		}
		for r, err := range s.Records(ctx, stream[0], stream[1]) {
			if err != nil {
				return nil, err
			}
			all[name] = append(all[name], r.Key+"="+string(r.Data))
		}
		slices.Sort(all[name])
		if found, _ := s.Count(stream[0], stream[1]); found != int64(len(all[name])) {
			return nil, fmt.Errorf("%d records of %s counted, %d found", found, name, len(all[name]))
		}
	}
	return all, nil
}

// copyStore copies a database with the files beside it to a new place.
func copyStore(t *testing.T, from string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if _, err := os.Stat(from + suffix); err == nil {
			copyFile(t, from+suffix, path+suffix)
		}
	}
	return path
}

// TestFlippedBytes changes one byte of a database, of its log, or of both, and
// checks what nobody may ever see: a clean report of a database that lost
// something, or an export that ends well with other records than were stored.
// What a salvage finds was stored, and it loses no more than stood on a page.
func TestFlippedBytes(t *testing.T) {
	slow(t)
	inLog := killed(t)
	merged := copyStore(t, inLog)
	s := open(t, merged, sqlite.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, file string
	}{
		{"database", merged, ""}, {"database with a log", inLog, ""}, {"log", inLog, "-wal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want, err := exported(t.Context(), copyStore(t, c.path))
			if err != nil || len(want["issues"]) != 12*40 {
				t.Fatalf("%d records, %v: this proves nothing", len(want["issues"]), err)
			}
			at, err := walked(t.Context(), copyStore(t, c.path))
			if err != nil {
				t.Fatal(err)
			}
			f := flipper{t: t, name: c.name, file: c.file, want: want, at: at}
			data, err := os.ReadFile(c.path + c.file)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range *flips {
				f.flip(c.path, data, uint64(seed))
			}
			t.Logf("%d flips: %d reported, %d refused by an export, %d by a run; a salvage lost up to %d records",
				*flips, f.reported, f.refused, f.stopped, f.lost)
			if f.reported == 0 || f.refused == 0 {
				t.Error("no flip was noticed: this proves nothing")
			}
		})
	}
}

// runs plays a run that has one new record, and reads none that is stored.
func runs(ctx context.Context, path string) (err error) {
	if err := salvage.CheckLog(path); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	l, err := s.Begin(ctx, newRun("acme", "run-9"), streams)
	if err != nil {
		return err
	}
	cp, err := l.Checkpoint(ctx, issues)
	if err != nil {
		return err
	}
	_, err = l.Commit(ctx, collection.Slice{Place: issues, From: cp.Cursor, Next: collection.Cursor{Token: "end"},
		Records: []collection.Record{{Key: "new", Data: []byte(`{"n":1}`)}}})
	if err != nil {
		return err
	}
	return l.Finish(ctx, collection.Run{Outcome: collection.Complete})
}

// TestRunsOverFlippedBytes: a run does not end well over damage that an export
// refuses, and each error says that it is damage.
func TestRunsOverFlippedBytes(t *testing.T) {
	slow(t)
	merged := killed(t)
	s := open(t, merged, sqlite.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(merged)
	if err != nil {
		t.Fatal(err)
	}
	refused, passed := 0, 0
	for seed := range uint64(*flips) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		offset, mask := rnd.IntN(len(data)), byte(1+rnd.IntN(255))
		if seed%4 == 0 {
			offset = rnd.IntN(100) // headers are small
		}
		path := copyStore(t, merged)
		overwrite(t, path, int64(offset), string([]byte{data[offset] ^ mask}))
		what := fmt.Sprintf("seed %d: byte %d (page %d, %d) ^ %#x", seed, offset, offset/4096+1, offset%4096, mask)
		report, err := salvage.Examine(t.Context(), path)
		healthy := err == nil && len(report.Problems) == 0
		runErr := runs(t.Context(), path)
		_, exportErr := exported(t.Context(), path)
		for _, err := range []error{err, runErr, exportErr} {
			if err != nil && !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrDoubtful) {
				t.Errorf("%s: %v, want %v", what, err, store.ErrDamaged)
			}
		}
		switch {
		case healthy && (runErr != nil || exportErr != nil):
			t.Errorf("%s: the report is clean, and a run and an export say: %v; %v", what, runErr, exportErr)
		case runErr != nil:
			refused++
		case exportErr != nil:
			passed++
			t.Logf("%s: a run ends well, and an export does not: %v; the report: %q", what, exportErr, report.Problems)
		}
	}
	t.Logf("%d flips: %d refused by a run; %d that it passed and an export refused", *flips, refused, passed)
	if refused == 0 {
		t.Error("no flip was noticed: this proves nothing")
	}
	if passed > 1+*flips/100 {
		t.Errorf("%d of %d runs ended well over damage", passed, *flips)
	}
}

// A flipper flips bytes and counts what was noticed.
type flipper struct {
	t          *testing.T
	name, file string
	want, at   contentOf
	reported   int
	refused    int
	stopped    int
	lost       int
}

func (f *flipper) flip(path string, data []byte, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	offset := rnd.IntN(len(data))
	if rnd.IntN(4) == 0 {
		offset = rnd.IntN(100) // headers are small
	}
	mask := byte(1 + rnd.IntN(255))
	if rnd.IntN(2) == 0 {
		mask = 1 << rnd.IntN(8)
	}
	what := fmt.Sprintf("%s, seed %d: byte %d (page %d, %d) ^ %#x", f.name, seed, offset, offset/4096+1, offset%4096, mask)
	damaged := func() string {
		path := copyStore(f.t, path)
		file, err := os.OpenFile(path+f.file, os.O_WRONLY, 0)
		if err != nil {
			f.t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteAt([]byte{data[offset] ^ mask}, int64(offset)); err != nil {
			f.t.Fatal(err)
		}
		return path
	}

	target := damaged()
	ctx := f.t.Context()
	report, err := salvage.Examine(ctx, target)
	healthy := err == nil && len(report.Problems) == 0
	if !healthy {
		f.reported++
	}
	got, err := exported(ctx, target)
	if err != nil {
		f.refused++
		if healthy {
			f.t.Errorf("%s: the report is clean, and an export fails: %v", what, err)
		}
	} else if !equal(got, f.want) {
		f.t.Errorf("%s: an export ends well and is wrong; report: %q", what, report.Problems)
	}
	f.salvage(what, target)
	if f.file == "-wal" {
		return // it was refused, or nothing of it counts
	}
	at, err := walked(ctx, target)
	if err != nil {
		f.stopped++
		if healthy {
			f.t.Errorf("%s: the report is clean, and a run fails: %v", what, err)
		}
	} else if healthy && !equal(at, f.at) {
		f.t.Errorf("%s: the report is clean, and a run goes on at %q, want %q", what, at, f.at)
	}
}

func (f *flipper) salvage(what, target string) {
	f.t.Helper()
	found, err := salvaged(f.t.Context(), target)
	if err != nil {
		f.t.Errorf("%s: salvage: %v", what, err)
		return
	}
	lost := 0
	for name, records := range f.want {
		stored := map[string]bool{}
		for _, r := range records {
			stored[r] = true
		}
		for _, r := range found[name] {
			key, _, _ := strings.Cut(r, "=")
			// An older version may come out where the newest was damaged.
			if !stored[r] && key != "0000-00" {
				f.t.Errorf("%s: salvage finds %.40s, which was not stored", what, r)
			}
		}
		lost += len(records) - len(found[name])
	}
	f.lost = max(f.lost, lost)
	if lost > 60 {
		f.t.Errorf("%s: a salvage lost %d records", what, lost)
	}
}

func equal(a, b contentOf) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// TestLogBesideARun looks at the log while a run commits: it is never damage.
func TestLogBesideARun(t *testing.T) {
	slow(t)
	path := filepath.Join(t.TempDir(), "state.db")
	cmd := child(t, "collect", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	commits := 0
	for lines := bufio.NewScanner(out); commits < 600 && lines.Scan(); commits++ {
		if commits%5 != 0 {
			continue // a look reads all of the log
		}
		if err := salvage.CheckLog(path); err != nil {
			t.Fatalf("after %d commits: %v", commits, err)
		}
	}
	if commits < 600 {
		t.Errorf("%d commits: this proves little", commits)
	}
}

// TestLastCommit damages the end of a log, behind which there is no other
// commit: only the shared memory knows that it was one.
func TestLastCommit(t *testing.T) {
	path := killed(t)
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	damaged := copyStore(t, path)
	if err := os.Truncate(damaged+"-wal", info.Size()-1); err != nil {
		t.Fatal(err)
	}
	if err := salvage.CheckLog(damaged); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("without its last byte: %v, want %v", err, store.ErrDamaged)
	}
	if report, err := salvage.Examine(t.Context(), damaged); err != nil || len(report.Problems) != 1 {
		t.Errorf("Examine = %+v, %v, want one problem", report, err)
	}
	// Examining must not make SQLite forget it.
	if err := salvage.CheckLog(damaged); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("the second time: %v, want %v", err, store.ErrDamaged)
	}
	// A log that is gone may have been merged after the shared memory was last
	// written to the disk.
	if err := os.Remove(damaged + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := salvage.CheckLog(damaged); !errors.Is(err, store.ErrDoubtful) {
		t.Errorf("without a log: %v, want %v", err, store.ErrDoubtful)
	}
	// Of a commit that a power cut ended nobody knows but the log itself.
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	if err := salvage.CheckLog(path); err != nil {
		t.Errorf("whole, without shared memory: %v", err)
	}
	write("no log, but as long as one: "+strings.Repeat("x", 100))(t, path+"-wal")
	if err := salvage.CheckLog(path); !errors.Is(err, store.ErrDoubtful) {
		t.Errorf("no log: %v, want %v", err, store.ErrDoubtful)
	}
}

package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

// writeFixture makes the fixture of the newest schema, which then is never
// made again: scripts/fixture sets it.
var writeFixture = flag.Bool("write-fixture", false, "write the store of the newest schema to testdata")

// TestWriteFixture writes the fixture of the newest schema.
func TestWriteFixture(t *testing.T) {
	if !*writeFixture {
		t.Skip("only with -write-fixture")
	}
	name := fixtureName(sqlite.Newest())
	if _, err := os.Stat(name); err == nil {
		t.Fatalf("%s is there, and stores of that schema do not change", name)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	fill(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func fixtureName(version int64) string { return fmt.Sprintf("testdata/schema-%04d.db.gz", version) }

// fixture unpacks the store that a binary with that schema made.
func fixture(t *testing.T, version int64) (path string) {
	t.Helper()
	f, err := os.Open(fixtureName(version))
	if err != nil {
		t.Fatalf("no store of schema %d is kept: run scripts/fixture", version)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Where the walks of a fixture stand.
var (
	issues   = collection.Place{Stream: "issues", Lane: collection.Incremental}
	comments = collection.Place{Stream: "comments", Partition: `{"id":"000000-00"}`, Lane: collection.Incremental}
	oldest   = collection.Place{Stream: "issues", Lane: collection.Backfill}
)

// fill makes a store with something in each table: a connector whose run is
// over and owes a page, and one whose process died.
func fill(t *testing.T, path string) {
	t.Helper()
	s := open(t, path, sqlite.Options{Create: true})
	l := begin(t, s, "acme", "run-1")
	for n := range 3 {
		mustCommit(t, l, collection.Slice{
			Place: issues, From: pageCursor(n), Next: pageCursor(n + 1), Records: childPage(n),
		})
	}
	mustCommit(t, l, collection.Slice{
		Place: comments, Next: collection.Cursor{Version: "v1", Done: true},
		Records: []collection.Record{{Key: "c-1", Data: []byte(`{"price":1.50,"serial":12345678901234567890}`),
			Mark: collection.Mark{Scale: "number serial", Value: "1 520 1234567890123456789"}}},
		Rejected: []collection.Rejected{{Data: []byte("\xff"), Reason: "not_an_object"}},
	}, collection.Slice{Place: oldest, Next: collection.Cursor{Token: "b"}})
	deferred := collection.Gap{Place: issues, Cursor: pageCursor(3), Reason: collection.RequestCap}
	if _, err := l.Defer(t.Context(), false, deferred); err != nil {
		t.Fatal(err)
	}
	if err := l.SaveProvider(t.Context(), "acme/1", []byte(`{"spacing":"1s"}`)); err != nil {
		t.Fatal(err)
	}
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Deferred, Reason: collection.RequestCap}); err != nil {
		t.Fatal(err)
	}
	dead := begin(t, s, "half", "run-2")
	mustCommit(t, dead, collection.Slice{Place: issues, Next: pageCursor(1), Records: childPage(0)})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// pageCursor is the cursor of page n.
func pageCursor(n int) collection.Cursor {
	if n == 0 {
		return collection.Cursor{}
	}
	return collection.Cursor{Token: fmt.Sprint(n)}
}

// checkFilled checks that a store is as fill left it, or went on from there:
// pages of issues are stored, and a run can go on.
func checkFilled(t *testing.T, s *sqlite.Store, pages int) {
	t.Helper()
	for connector, pages := range map[string]int{"acme": pages, "half": 1} {
		var want []collection.Record
		for n := range pages {
			want = append(want, childPage(n)...)
		}
		checkRecords(t, s, connector, "issues", want)
	}
	checkRecords(t, s, "acme", "comments", []collection.Record{{Key: "c-1", Data: []byte(`{"price":1.50,"serial":12345678901234567890}`)}})
	if state, err := s.Provider(t.Context(), "acme/1"); err != nil || string(state) != `{"spacing":"1s"}` {
		t.Errorf("Provider = %s, %v, want what was saved", state, err)
	}
	if salt, err := s.Salt(t.Context()); err != nil || len(salt) != 32 {
		t.Errorf("Salt = %x, %v, want 32 bytes", salt, err)
	}
	if streams, err := s.Streams(t.Context(), "acme"); err != nil || len(streams) != 2 || streams[1].Quarantined != 1 {
		t.Errorf("Streams = %+v, %v, want two, and one record in quarantine", streams, err)
	}
}

// checkRecords checks the records of a stream, which are in the order of their
// keys.
func checkRecords(t *testing.T, s *sqlite.Store, connector, stream string, want []collection.Record) {
	t.Helper()
	var got []collection.Record
	for r, err := range s.Records(t.Context(), connector, stream) {
		if err != nil {
			t.Fatalf("Records of %s/%s: %v", connector, stream, err)
		}
		got = append(got, r.Record)
	}
	same := func(a, b collection.Record) bool { return a.Key == b.Key && bytes.Equal(a.Data, b.Data) }
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("%s/%s has %d records, want %d, or they differ", connector, stream, len(got), len(want))
	}
}

// goOn takes the run of acme up at page n of its issues and commits that page.
func goOn(t *testing.T, s *sqlite.Store, run string, n int) {
	t.Helper()
	l := begin(t, s, "acme", run)
	cp, err := l.Checkpoint(t.Context(), issues)
	if err != nil || cp.Cursor != pageCursor(n) {
		t.Errorf("Checkpoint = %+v, %v, want page %d", cp, err, n)
	}
	mustCommit(t, l, collection.Slice{Place: issues, From: pageCursor(n), Next: pageCursor(n + 1), Records: childPage(n)})
	if cp, err := l.Checkpoint(t.Context(), oldest); err != nil || cp.Token != "b" {
		t.Errorf("Checkpoint of the backfill = %+v, %v, want b", cp, err)
	}
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete}); err != nil {
		t.Error(err)
	}
}

// TestEverySchema opens a store of each schema there ever was, and goes on
// with it.
func TestEverySchema(t *testing.T) {
	slow(t)
	for version := range sqlite.Newest() {
		version++
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			path := fixture(t, version)
			s := open(t, path, sqlite.Options{})
			checkFilled(t, s, 3)
			goOn(t, s, "run-3", 3)
			begin(t, s, "half", "run-4")
			checkFilled(t, s, 4)
			if gaps, err := s.Gaps(t.Context(), "acme"); err != nil || len(gaps) != 0 {
				t.Errorf("Gaps = %+v, %v, want what was owed to be filled", gaps, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// childMigrates makes or upgrades the store, and is killed at a step.
func childMigrates(path string) error {
	return sqlite.Migrate(context.Background(), path, killAtStep())
}

// killAtStep kills this process at the step whose number is in the
// environment.
func killAtStep() func(sqlite.Step) error {
	left, err := strconv.Atoi(os.Getenv(childStep))
	return func(sqlite.Step) error {
		if err == nil && left == 0 {
			err = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		left--
		return err
	}
}

// failAtStep fails a step once.
func failAtStep(step int) func(sqlite.Step) error {
	return func(sqlite.Step) error {
		if step--; step == -1 {
			return errInjected
		}
		return nil
	}
}

// childStep names the step in the environment.
const childStep = "COLLECT_TEST_STEP"

// killedAt reports whether a child that does a job with the store at path was
// killed at a step, and not done before.
func killedAt(t *testing.T, job, path string, step int, env ...string) bool {
	t.Helper()
	cmd := child(t, job, path)
	cmd.Stdout = os.Stdout
	cmd.Env = append(append(cmd.Env, env...), childStep+"="+strconv.Itoa(step))
	err := cmd.Run()
	if err == nil {
		return false
	}
	if cmd.ProcessState.Exited() {
		t.Fatalf("the child fails: %v", err)
	}
	return true
}

// TestKilledInMigration kills an upgrade, and a first start, at each of its
// steps, and fails each: the next start finishes it, and everything is there.
func TestKilledInMigration(t *testing.T) {
	slow(t)
	prepare := map[string]func(*testing.T) string{
		"first start": func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "state.db")
			write("")(t, path)
			return path
		},
	}
	for version := range sqlite.Newest() - 1 {
		prepare[fmt.Sprint("from ", version+1)] = func(t *testing.T) string { return fixture(t, version+1) }
	}
	for name, prepare := range prepare {
		for _, how := range []string{"killed", "failed"} {
			t.Run(name+","+how, func(t *testing.T) {
				interrupted := 0
				for interruptAt(t, prepare(t), how, interrupted) {
					interrupted++
				}
				if interrupted < 3 { // wal, before a version, after it
					t.Errorf("interrupted at %d steps: this proves little", interrupted)
				}
			})
		}
	}
}

// interruptAt interrupts a migration of the store at path at a step, and
// checks that the next start finishes it. It returns false if there are fewer
// steps.
func interruptAt(t *testing.T, path, how string, step int) bool {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	first := info.Size() == 0
	if how == "failed" {
		if err := sqlite.Migrate(t.Context(), path, failAtStep(step)); !errors.Is(err, errInjected) {
			return false
		}
	} else if !killedAt(t, "migrate", path, step) {
		return false
	}
	if first {
		fill(t, path)
	}
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	checkFilled(t, s, 3)
	goOn(t, s, fmt.Sprint("run-", 10+step), 3)
	return true
}

// TestOutOfWAL: a store that another program took out of WAL mode is put back.
func TestOutOfWAL(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	execute("PRAGMA journal_mode = DELETE")(t, path)
	s := open(t, path, sqlite.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := queryRows(t, db, "PRAGMA journal_mode"); got[0] != "wal" {
		t.Errorf("the journal mode is %s, want wal", got[0])
	}
}

// TestUnknownSchema: a store of a version to come is refused as it is, also
// where it has lost nothing that this version knows.
func TestUnknownSchema(t *testing.T) {
	slow(t)
	path := made(t)
	execute(fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)`, sqlite.Newest()+1))(t, path)
	before := hashOf(t, path)
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Open: %v, want %v", err, store.ErrNewer)
	}
	if hashOf(t, path) != before {
		t.Error("the store was changed")
	}
}

package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"collect/collection"
	"collect/internal/filelock"
	"collect/store"
	"collect/store/sqlite"
)

// TestLibraryVersion: SQLite before 3.51.3 can lose commits when a WAL is
// reset while a reader checkpoints it.
func TestLibraryVersion(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		t.Fatalf("version %q: %v", version, err)
	}
	if got, want := major*1_000_000+minor*1000+patch, 3_051_003; got < want {
		t.Errorf("SQLite is %s, want 3.51.3 or newer", version)
	}
}

// TestRecipe checks the settings that durability rests on.
func TestRecipe(t *testing.T) {
	path := made(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "30000", "wal_autocheckpoint": "1000"} {
		db := sqlite.Single(path)
		if got := queryRows(t, db, "PRAGMA "+pragma); len(got) != 1 || got[0] != want {
			t.Errorf("%s = %v, want %s", pragma, got, want)
		}
		db.Close()
	}
}

// TestModes makes a store under umasks that ask for more and for less, and
// looks at every file while a run is on.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o077, 0o777} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a", "b", "state.db")
		old := syscall.Umask(umask)
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
		if err != nil {
			syscall.Umask(old)
			t.Fatalf("umask %#o: Open: %v", umask, err)
		}
		_, err = s.Begin(t.Context(), newRun("acme", "run-1"), streams)
		syscall.Umask(old)
		if err != nil {
			t.Fatalf("umask %#o: Begin: %v", umask, err)
		}
		want := map[string]os.FileMode{
			"a": 0o700, "a/b": 0o700, "a/b/state.db": 0o600, "a/b/state.db-wal": 0o600,
			"a/b/state.db-shm": 0o600, "a/b/state.db.acme.lock": 0o600,
		}
		for name, mode := range want {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != mode {
				t.Errorf("umask %#o: %s has mode %v, %v, want %v", umask, name, info.Mode().Perm(), err, mode)
			}
		}
		checkFiles(t, path, "state.db", "state.db-shm", "state.db-wal", "state.db.acme.lock")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// write makes a file of data.
func write(data string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// execute runs statements on a database, made if need be.
func execute(statements string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statements); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHalfMade opens what a process that was killed in its first start left.
func TestHalfMade(t *testing.T) {
	db, err := sql.Open("sqlite", made(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	goose := queryRows(t, db, `SELECT sql FROM sqlite_schema WHERE name = 'goose_db_version'`)[0]
	for name, prepare := range map[string]func(*testing.T, string){
		"an empty file":    write(""),
		"a table of goose": execute(goose + `; INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`),
	} {
		path := filepath.Join(t.TempDir(), "state.db")
		prepare(t, path)
		if s, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true}); !errors.Is(err, store.ErrMissing) {
			t.Errorf("%s, read-only: %v, %v, want %v", name, s, err, store.ErrMissing)
		}
		if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, store.ErrMissing) {
			t.Errorf("%s, not to be made: %v, %v, want %v", name, s, err, store.ErrMissing)
		}
		s := open(t, path, sqlite.Options{Create: true})
		begin(t, s, "acme", "run-1")
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTwoWriters lets two stores, as of two processes, write at once: they
// take turns and never fail for that.
func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	var wait sync.WaitGroup
	for _, connector := range []string{"a", "b"} {
		s := open(t, path, sqlite.Options{Create: true})
		defer s.Close()
		l := begin(t, s, connector, "run-"+connector)
		wait.Go(func() {
			at, from := collection.Place{Stream: "issues", Lane: collection.Incremental}, collection.Cursor{}
			for i := range 100 {
				next := collection.Cursor{Token: fmt.Sprint(i + 1)}
				if _, err := l.Commit(t.Context(), collection.Slice{Place: at, From: from, Next: next, Records: childPage(i)}); err != nil {
					t.Errorf("%s, page %d: %v", connector, i, err)
					return
				}
				from = next
			}
		})
	}
	wait.Wait()
	s := open(t, path, sqlite.Options{ReadOnly: true})
	defer s.Close()
	for _, connector := range []string{"a", "b"} {
		if states, err := s.Streams(t.Context(), connector); err != nil || states[0].Records != 2000 {
			t.Errorf("Streams of %s = %+v, %v, want 2000 records", connector, states, err)
		}
	}
}

// TestOpenWaitsForNoUpgrade: who makes or upgrades a store keeps nobody out who
// has no need of it. The lock is held until Open returns: an Open that wants it
// can only fail.
func TestOpenWaitsForNoUpgrade(t *testing.T) {
	path := made(t)
	lock, err := filelock.Acquire(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if err := lock.Release(); err != nil { // closing takes turns
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenErrors opens what is not a store of this version.
func TestOpenErrors(t *testing.T) {
	cases := []struct {
		name    string
		prepare func(t *testing.T, path string)
		want    error
	}{
		{"missing", func(*testing.T, string) {}, store.ErrMissing},
		{"empty", write(""), store.ErrMissing},
		{"text", write(strings.Repeat("not a database\n", 1000)), store.ErrNotDatabase},
		{"directory", func(t *testing.T, path string) { os.Mkdir(path, 0o700) }, store.ErrNotDatabase},
		{"another program's", execute(`CREATE TABLE bookmarks (url TEXT); PRAGMA application_id = 7`), store.ErrNotDatabase},
		{"no program's", execute(`CREATE TABLE bookmarks (url TEXT)`), store.ErrNotDatabase},
		{"newer", func(t *testing.T, path string) {
			copyFile(t, made(t), path)
			execute(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`)(t, path)
		}, store.ErrNewer},
		{"torn", func(t *testing.T, path string) {
			copyFile(t, made(t), path)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte(strings.Repeat("\xff", 4000)), 100); err != nil {
				t.Fatal(err)
			}
		}, store.ErrDamaged},
	}
	for _, c := range cases {
		for _, o := range []sqlite.Options{{}, {ReadOnly: true}} {
			t.Run(fmt.Sprintf("%s,%+v", c.name, o), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "state.db")
				c.prepare(t, path)
				s, err := sqlite.Open(t.Context(), path, o)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, c.want) {
					t.Errorf("error = %v, want %v", err, c.want)
				}
				if errors.Is(err, store.ErrDamaged) != (c.want == store.ErrDamaged) {
					t.Errorf("error = %v, want %v and nothing else", err, c.want)
				}
			})
		}
	}
}

// TestDamageFoundLater breaks pages of a store that is open.
func TestDamageFoundLater(t *testing.T) {
	path := made(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 4096 * 3; at < len(data); at++ {
		data[at] = 0xff
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err == nil {
		_, err = s.Gaps(t.Context(), "")
		_, err2 := s.Streams(t.Context(), "acme")
		err = errors.Join(err, err2)
		s.Close()
	}
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("error = %v, want %v", err, store.ErrDamaged)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOtherNames: a store is the same under every name of its file.
func TestOtherNames(t *testing.T) {
	path := made(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	a, b := open(t, path, sqlite.Options{}), open(t, link, sqlite.Options{})
	defer a.Close()
	defer b.Close()
	begin(t, a, "acme", "run-2")
	if _, err := b.Begin(t.Context(), newRun("acme", "run-3"), streams); err == nil {
		t.Error("through a symbolic link a second run got the lease")
	}
}

func TestLockPath(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("x", 300)
	for _, connector := range []string{"", "a", "A", "%41", "%61", "a/b", "a\\b", "a.b", "a b", "..", "é", "\x00", "a~b", long, long + "x", strings.ToUpper(long)} {
		path := sqlite.LockPath("/dir/state.db", connector)
		name := strings.ToLower(filepath.Base(path)) // not every file system tells cases apart
		if filepath.Dir(path) != "/dir" || len(name) > 255 || !strings.HasPrefix(name, "state.db.") {
			t.Errorf("LockPath of %q = %q, want a short name beside the database", connector, path)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q share the lock %q", connector, other, path)
		}
		seen[name] = connector
	}
	if got, want := sqlite.LockPath("/dir/state.db", "az-09_"), "/dir/state.db.az-09_.lock"; got != want {
		t.Errorf("LockPath = %q, want %q", got, want)
	}
}

// TestSchemaExplainsItself: .schema in the sqlite3 shell says what each table
// is for.
func TestSchemaExplainsItself(t *testing.T) {
	db, err := sql.Open("sqlite", made(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range queryRows(t, db, `SELECT name || '|' || sql FROM sqlite_schema WHERE type = 'table'
		AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`) {
		name, text, _ := strings.Cut(table, "|")
		if !strings.Contains(text, "(\n    -- ") || !strings.Contains(text, ") STRICT") {
			t.Errorf("table %s is not strict, or does not begin with what it is for:\n%s", name, text)
		}
	}
}

// TestPlans checks that what is asked for each slice and each page is found by
// an index, however large the store.
func TestPlans(t *testing.T) {
	db, err := sql.Open("sqlite", made(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, query := range sqlite.Queries {
		for _, step := range queryRows(t, db, "EXPLAIN QUERY PLAN "+query, make([]any, 13)...) {
			if strings.Contains(step, "SCAN") && !strings.Contains(step, "json_each") && !strings.Contains(step, "CONSTANT") {
				t.Errorf("%s scans a table: %s", name, step)
			}
		}
	}
}

// TestClosedWhileHeld: a store that is closed under a run frees the lease like
// a process that dies.
func TestClosedWhileHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	l := begin(t, s, "acme", "run-1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Beat(t.Context(), newRun("", "").StartedAt, collection.Tally{}, collection.Metrics{}); err == nil {
		t.Error("Beat on a closed store succeeded")
	}
	s = open(t, path, sqlite.Options{})
	defer s.Close()
	begin(t, s, "acme", "run-2")
}

// TestAuditTrail: each commit names its predecessor at its place, across
// resets, runs and stores. (I4.)
func TestAuditTrail(t *testing.T) {
	path := made(t)
	at := collection.Place{Stream: "issues", Lane: collection.Incremental}
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	if err := s.Reset(t.Context(), "acme", at, collection.Cursor{}, store.Audit{Who: "kim", Why: "again"}); err != nil {
		t.Fatal(err)
	}
	l := begin(t, s, "acme", "run-2")
	other := at
	other.Lane = collection.Backfill
	mustCommit(t, l,
		collection.Slice{Place: other, Next: collection.Cursor{Token: "b"}},
		collection.Slice{Place: at, Next: collection.Cursor{Token: "1"}, Records: childPage(0)},
		collection.Slice{Place: at, From: collection.Cursor{Token: "1"}, Next: collection.Cursor{Done: true}, Records: childPage(1)})
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got := queryRows(t, db, `SELECT id, previous, lane, run, records, changed, done FROM slices ORDER BY id`)
	want := []string{"1|0|incremental|run-1|20|20|0", "2|0|backfill|run-2|0|0|0", "3|1|incremental|run-2|20|0|0", "4|3|incremental|run-2|20|20|1"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("slices = %q, want %q", got, want)
	}
}

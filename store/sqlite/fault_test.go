package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

var errInjected = errors.New("injected")

// The place and the gap of the writes that are failed.
var (
	faultPlace = collection.Place{Stream: "issues", Lane: collection.Incremental}
	faultGap   = collection.Gap{Place: faultPlace, Cursor: collection.Cursor{Token: "2"}, Reason: collection.RequestCap}
)

// The stream that sweeps, and the partition whose walk is at its last page.
var (
	sweeping  = append(slices.Clip(streams), collection.Stream{Name: "projects", Sweeps: true})
	sweptPart = collection.Place{Stream: "projects", Partition: `{"org":"x"}`, Lane: collection.Incremental}
)

// listed is a page of a list that is read by the provider's own cursor.
func listed(at collection.Place, from, next string, keys ...string) collection.Slice {
	sl := collection.Slice{Place: at, From: collection.Cursor{Token: from, Done: from == "done"}, Next: collection.Cursor{Token: next, Done: next == "done"}}
	if sl.From.Done {
		sl.From.Token = ""
	}
	sl.Told.First = from == "" || sl.From.Done
	if sl.Next.Done {
		sl.Next.Token, sl.Told.End = "", collection.EndMark
	}
	for _, key := range keys {
		sl.Records = append(sl.Records, collection.Record{Key: key, Data: []byte(`{"id":"` + key + `"}`)})
	}
	return sl
}

// beginSweeping begins a run at whose next page a sweep marks the record b, which is
// gone, and hands over c, which another partition has shown.
func beginSweeping(t *testing.T, s *sqlite.Store) store.Ledger {
	t.Helper()
	l, err := s.Begin(t.Context(), newRun("acme", "run-1"), sweeping)
	if err != nil {
		t.Fatal(err)
	}
	other := sweptPart
	other.Partition = `{"org":"y"}`
	mustCommit(t, l, listed(sweptPart, "", "done", "a", "b", "c"))
	mustCommit(t, l, listed(other, "", "done", "c", "d", "e"))
	mustCommit(t, l, listed(sweptPart, "done", "2", "a"))
	mustCommit(t, l, listed(sweptPart, "2", "done", "f"))
	mustCommit(t, l, listed(sweptPart, "done", "2", "a"))
	return l
}

// writes are all that a run and an operator write.
var writes = map[string]func(*testing.T, *sqlite.Store, store.Ledger) error{
	"Commit": func(t *testing.T, _ *sqlite.Store, l store.Ledger) error {
		done, err := l.Commit(t.Context(), collection.Slice{
			Place: faultPlace, From: collection.Cursor{Token: "2"}, Next: collection.Cursor{Token: "3"},
			Records:  []collection.Record{{Key: "b", Data: []byte(`{"new":1}`)}},
			Rejected: []collection.Rejected{{Data: []byte("x"), Reason: "no_key"}},
		})
		if err == nil && (len(done) != 1 || done[0].Changed != 1) {
			t.Errorf("Commit = %+v, want one change", done)
		}
		return err
	},
	"Sweep": func(t *testing.T, _ *sqlite.Store, l store.Ledger) error {
		done, err := l.Commit(t.Context(), listed(sweptPart, "2", "done", "f"))
		if err == nil && (len(done) != 1 || done[0].Deleted != 1) {
			t.Errorf("Commit = %+v, want one record marked", done)
		}
		return err
	},
	"Redo": func(t *testing.T, s *sqlite.Store, _ store.Ledger) error {
		due := collection.Gap{Place: faultPlace, Reason: collection.Differs}
		opened, err := s.Redo(t.Context(), "done", []collection.Gap{due}, store.Audit{Who: "operator", Why: "repaired"})
		if n := map[bool]int{true: 1}[err == nil]; len(opened) != n {
			t.Errorf("Redo = %+v, %v, want %d gaps", opened, err, n)
		}
		return err
	},
	"AcceptSchema": func(t *testing.T, s *sqlite.Store, _ store.Ledger) error {
		_, err := s.AcceptSchema(t.Context(), "done", "issues", nil, store.Audit{Who: "operator"})
		return err
	},
	"Defer": func(t *testing.T, _ *sqlite.Store, l store.Ledger) error {
		_, err := l.Defer(t.Context(), true, faultGap)
		return err
	},
	"Lease": func(t *testing.T, _ *sqlite.Store, l store.Ledger) error {
		gaps, err := l.Lease(t.Context(), collection.Incremental, []string{"issues"}, time.Now(), 1)
		if err == nil && len(gaps) != 1 {
			t.Errorf("Lease = %v, want the gap", gaps)
		}
		return err
	},
	"SaveProvider": func(t *testing.T, _ *sqlite.Store, l store.Ledger) error {
		return l.SaveProvider(t.Context(), "d", []byte(`{"a":1}`), collection.Event{Kind: collection.RateChanged})
	},
	"Beat": func(t *testing.T, _ *sqlite.Store, l store.Ledger) error {
		return l.Beat(t.Context(), time.Now(), collection.Tally{Requests: 7}, collection.Metrics{TotalRequests: 7})
	},
	"Finish": func(t *testing.T, _ *sqlite.Store, l store.Ledger) error {
		return l.Finish(t.Context(), collection.Run{Outcome: collection.Complete})
	},
	"Begin": func(t *testing.T, s *sqlite.Store, _ store.Ledger) error {
		_, err := s.Begin(t.Context(), newRun("other", "run-9"), streams)
		return err
	},
	"Reset": func(t *testing.T, s *sqlite.Store, _ store.Ledger) error {
		return s.Reset(t.Context(), "done", faultPlace, collection.Cursor{Token: "1"}, store.Audit{Who: "operator"})
	},
	"Revive": func(t *testing.T, s *sqlite.Store, _ store.Ledger) error { return orderGap(t, s, s.Revive) },
	"Waive":  func(t *testing.T, s *sqlite.Store, _ store.Ledger) error { return orderGap(t, s, s.Waive) },
	"Override": func(t *testing.T, s *sqlite.Store, _ store.Ledger) error {
		edit := func([]byte) ([]byte, error) { return []byte(`{}`), nil }
		return s.Override(t.Context(), "done", "d", edit, store.Audit{Who: "operator"}, collection.Event{Kind: collection.FreezeChanged})
	},
}

// orderGap gives an order on the gap of done, which is dead.
func orderGap(t *testing.T, s *sqlite.Store, order func(context.Context, string, []int64, store.Audit) ([]collection.Gap, error)) error {
	owed, err := s.Gaps(t.Context(), "done")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := order(t.Context(), "done", []int64{owed[0].ID}, store.Audit{Who: "operator", Why: "repaired"})
	if n := map[bool]int{true: 1}[err == nil]; len(changed) != n {
		t.Errorf("it changed %+v, %v, want %d gaps", changed, err, n)
	}
	return err
}

// TestFaults fails every write of a run at every step: before it took effect
// and after. What fails before changes no row; what fails after is found to
// have taken effect; and where that cannot be looked up, the error says so.
// (I1, I21, I23.)
func TestFaults(t *testing.T) {
	slow(t)
	cases := []struct {
		steps   []sqlite.Step
		effect  bool
		failure error // nil: the write reports success
	}{
		{[]sqlite.Step{sqlite.BeforeBegin}, false, errInjected},
		{[]sqlite.Step{sqlite.BeforeCommit}, false, errInjected},
		{[]sqlite.Step{sqlite.AfterCommit}, true, nil},
		{[]sqlite.Step{sqlite.BeforeCommit, sqlite.ReadBack}, false, collection.ErrUnknown},
		{[]sqlite.Step{sqlite.AfterCommit, sqlite.ReadBack}, true, collection.ErrUnknown},
	}
	for name, write := range writes {
		for _, c := range cases {
			t.Run(fmt.Sprint(name, c.steps), func(t *testing.T) {
				t.Parallel()
				failWrite(t, write, c.steps, c.effect, c.failure)
			})
		}
	}
}

// TestFaultsInARow: a write that has no effect is told from each of those
// before it, whatever they were and whether they had theirs.
func TestFaultsInARow(t *testing.T) {
	for _, first := range []string{"Commit", "Beat"} { // which number themselves
		for _, second := range []string{"Commit", "Beat"} {
			t.Run(first+" "+second, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "state.db")
				s := open(t, path, sqlite.Options{Create: true})
				defer s.Close()
				l := begin(t, s, "acme", "run-1")
				mustCommit(t, l, collection.Slice{Place: faultPlace, Next: collection.Cursor{Token: "2"}})
				for _, name := range []string{first, second} {
					sqlite.FailAt(s, errInjected, sqlite.BeforeCommit)
					if err := writes[name](t, s, l); !errors.Is(err, errInjected) {
						t.Errorf("%s: error = %v, want %v", name, err, errInjected)
					}
				}
			})
		}
	}
}

// TestErrorsOfTheSystem checks that what the operating system says of the disk
// is told in the words of the port, and that nothing passes for a full disk
// that is none.
func TestErrorsOfTheSystem(t *testing.T) {
	slow(t)
	for errno, want := range map[syscall.Errno]error{
		syscall.EIO: store.ErrDisk, syscall.ENOLCK: store.ErrDisk,
		syscall.ENOSPC: collection.ErrFull, syscall.EDQUOT: collection.ErrFull,
		syscall.EACCES: store.ErrNoAccess, syscall.EPERM: store.ErrNoAccess, syscall.EROFS: store.ErrNoAccess,
		syscall.EINTR: syscall.EINTR,
	} {
		for _, name := range []string{"Begin", "Beat", "Finish"} {
			s := open(t, filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
			defer s.Close()
			l := begin(t, s, "acme", "run-1")
			sqlite.FailAlways(s, errno, sqlite.BeforeCommit)
			err := writes[name](t, s, l)
			if !errors.Is(err, errno) {
				t.Errorf("%s: %v, want it to wrap %v", name, err, errno)
			}
			for _, said := range []error{store.ErrDisk, collection.ErrFull, store.ErrNoAccess, store.ErrMissing, store.ErrDamaged} {
				if errors.Is(err, said) != (said == want) {
					t.Errorf("%s, %v: %v, want %v and nothing else", name, errno, err, want)
				}
			}
		}
	}
}

// TestStaysLocked checks that a lock that nobody gives back is told as one, and
// that only the first write waits for it as long as for another run, until one
// has the lock. A beat, of which the next comes soon, does not count.
func TestStaysLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	sqlite.SetPatience(s, 10*time.Millisecond)
	for _, step := range []struct {
		write  string
		locked bool
		waits  int // ms
	}{
		{"Beat", true, 10},
		{"Override", true, 10},
		{"Override", false, 1000},
		{"Override", false, 10},
	} {
		statement := "ROLLBACK"
		if step.locked {
			statement = "BEGIN IMMEDIATE"
		}
		_, _ = other.Exec(statement) // it may be begun, or ended, already
		err := writes[step.write](t, s, l)
		if errors.Is(err, store.ErrLocked) != step.locked || !step.locked && err != nil {
			t.Errorf("%s: %v, want that it is locked: %t", step.write, err, step.locked)
		}
		if ms, err := sqlite.Patience(s); err != nil || ms != step.waits {
			t.Errorf("%s, locked: %t: it waits %d ms (%v), want %d", step.write, step.locked, ms, err, step.waits)
		}
	}
}

// TestBeatIsBrief checks that a beat does not keep other writes waiting for
// long where another process writes.
func TestBeatIsBrief(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	defer s.Close()
	l := begin(t, s, "acme", "run-1")
	for _, step := range []struct {
		write string
		waits int // ms
	}{{"Defer", 30_000}, {"Beat", 1000}, {"Defer", 30_000}} {
		if err := writes[step.write](t, s, l); err != nil {
			t.Errorf("%s: %v", step.write, err)
		}
		if ms, err := sqlite.Patience(s); err != nil || ms != step.waits {
			t.Errorf("%s waits %d ms (%v), want %d", step.write, ms, err, step.waits)
		}
	}
}

// TestReadersBusy checks that a question which waits for a connection keeps no
// run from beginning or ending.
func TestReadersBusy(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	defer s.Close()
	waiting, release, err := sqlite.OccupyReaders(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	answered, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Connectors(t.Context())
		answered <- err
	}()
	for !waiting() {
		runtime.Gosched()
	}
	go func() {
		l, err := s.Begin(t.Context(), newRun("acme", "run-1"), streams)
		if err == nil {
			err = l.Finish(t.Context(), collection.Run{})
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("a run waits for a question")
	}
	release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// failWrite fails a write at steps, and checks its error and its effect.
func failWrite(t *testing.T, write func(*testing.T, *sqlite.Store, store.Ledger) error, steps []sqlite.Step, effect bool, failure error) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	done := begin(t, s, "done", "run-0")
	mustCommit(t, done, collection.Slice{Place: faultPlace, Next: collection.Cursor{Token: "2"},
		Records: []collection.Record{{Key: "a", Data: []byte(`{}`), Mark: collection.Mark{Scale: "number at", Value: "9"}}}})
	refused := collection.Place{Stream: faultPlace.Stream, Partition: `{"id":"7"}`, Lane: faultPlace.Lane} // it can be waived
	if _, err := done.Defer(t.Context(), true, collection.Gap{Place: refused, Reason: collection.Forbidden}); err != nil {
		t.Fatal(err)
	}
	if err := done.Finish(t.Context(), collection.Run{}); err != nil {
		t.Fatal(err)
	}
	l := beginSweeping(t, s)
	mustCommit(t, l, collection.Slice{Place: faultPlace, Next: collection.Cursor{Token: "2"},
		Records: []collection.Record{{Key: "a", Data: []byte(`{}`)}}})
	if _, err := l.Defer(t.Context(), false, faultGap); err != nil {
		t.Fatal(err)
	}

	before := dump(t, path)
	left := sqlite.FailAt(s, errInjected, steps...)
	err := write(t, s, l)
	if !errors.Is(err, failure) || errors.Is(err, collection.ErrUnknown) != (failure == collection.ErrUnknown) {
		t.Errorf("error = %v, want %v", err, failure)
	}
	if errors.Is(err, collection.ErrUnknown) && errors.Is(err, errInjected) {
		t.Errorf("error = %v, which is also its cause: that may promise that nothing was written", err)
	}
	if left() != 0 {
		t.Fatal("a step was not reached")
	}
	if changed := !slices.Equal(before, dump(t, path)); changed != effect {
		t.Errorf("rows changed: %t, want %t", changed, effect)
	}
	// Whatever happened, the same write succeeds when it is repeated,
	// unless it had its effect.
	if !effect {
		if err := write(t, s, l); err != nil {
			t.Errorf("repeated: %v", err)
		}
	}
}

// dump returns all rows of the database as text.
func dump(t *testing.T, path string) (rows []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range queryRows(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`) {
		for _, row := range queryRows(t, db, "SELECT * FROM "+table) {
			rows = append(rows, table+": "+row)
		}
	}
	return append(rows, queryRows(t, db, `SELECT name, sql FROM sqlite_schema`)...)
}

// queryRows returns the rows of a query, with | between columns.
func queryRows(t *testing.T, db *sql.DB, query string, args ...any) (all []string) {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, dest := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			dest[i] = &cells[i]
		}
		if err := rows.Scan(dest...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		var row []string
		for _, c := range cells {
			if !c.Valid {
				c.String = "NULL"
			}
			row = append(row, c.String)
		}
		all = append(all, strings.Join(row, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

var streams = []collection.Stream{{Name: "issues"}, {Name: "comments", Role: collection.Detail, Parent: "issues"}}

func newRun(connector, id string) collection.Run {
	return collection.Run{
		ID: id, Connector: connector, Mode: collection.Forward, Lane: collection.Incremental,
		Holder: collection.Holder{Host: "here", PID: 1}, StartedAt: time.Now(),
	}
}

func begin(t testing.TB, s *sqlite.Store, connector, run string) store.Ledger {
	t.Helper()
	l, err := s.Begin(t.Context(), newRun(connector, run), streams)
	if err != nil {
		t.Fatalf("Begin %s: %v", run, err)
	}
	return l
}

func mustCommit(t testing.TB, l store.Ledger, slices ...collection.Slice) []collection.Committed {
	t.Helper()
	done, err := l.Commit(t.Context(), slices...)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return done
}

// TestCommitWithoutSpace fills the database: the commit that does not fit is
// ErrFull and writes nothing, and with space again it succeeds.
func TestCommitWithoutSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	fillUp(t, s, path, func() {
		if err := sqlite.LimitPages(s, 20); err != nil {
			t.Fatal(err)
		}
	}, func() {
		if err := sqlite.LimitPages(s, 1000); err != nil {
			t.Fatal(err)
		}
	})
}

// fillUp commits until no space is left, and once more when there is some.
func fillUp(t *testing.T, s *sqlite.Store, path string, limit, lift func()) {
	t.Helper()
	at := collection.Place{Stream: "issues", Lane: collection.Incremental}
	l := begin(t, s, "acme", "run-1")
	limit()
	big := []byte(`{"x":"` + strings.Repeat("x", 30_000) + `"}`)
	from, n := collection.Cursor{}, 0
	slice := func() collection.Slice {
		return collection.Slice{
			Place: faultPlace, From: from, Next: collection.Cursor{Token: fmt.Sprint(n + 1)},
			Records: []collection.Record{{Key: fmt.Sprint(n), Data: big}},
		}
	}
	for ; n < 10_000; n++ {
		before := dump(t, path)
		_, err := l.Commit(t.Context(), slice())
		if err == nil {
			from = collection.Cursor{Token: fmt.Sprint(n + 1)}
			continue
		}
		if !errors.Is(err, collection.ErrFull) || errors.Is(err, collection.ErrUnknown) {
			t.Fatalf("Commit without space: error = %v, want %v", err, collection.ErrFull)
		}
		if after := dump(t, path); !slices.Equal(before, after) {
			t.Errorf("a commit without space changed rows")
		}
		break
	}
	if n == 0 || n == 10_000 {
		t.Fatalf("%d commits before the space ran out", n)
	}
	lift()
	mustCommit(t, l, slice())
	if cp, err := l.Checkpoint(t.Context(), at); err != nil || cp.Token != fmt.Sprint(n+1) {
		t.Errorf("Checkpoint = %+v, %v, want %d", cp, err, n+1)
	}
}

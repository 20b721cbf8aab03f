package transfer_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"collect/collection"
	"collect/internal/pgtest"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/postgres"
	"collect/store/sqlite"
	"collect/store/transfer"
)

// A faulty target changes what it is to store of a table.
type faulty struct {
	transfer.Target
	table string
	fault func(columns []string, rows [][]any) [][]any
}

func (f faulty) Insert(tx database.Tx, table string, columns []string, rows [][]any) error {
	if table == f.table {
		rows = f.fault(columns, rows)
	}
	return f.Target.Insert(tx, table, columns, rows)
}

// TestProofRefutes: whatever a copier does wrong, the copy does not get its name, the table and the row are said,
// and the next copy begins anew.
func TestProofRefutes(t *testing.T) {
	set := func(column string, value any) func([]string, [][]any) [][]any {
		return func(columns []string, rows [][]any) [][]any {
			rows[0][slices.Index(columns, column)] = value
			return rows
		}
	}
	for name, fault := range map[string]struct {
		table, first string
		do           func(columns []string, rows [][]any) [][]any
	}{
		"the first row left out": {"records", "1", func(_ []string, rows [][]any) [][]any { return rows[1:] }},
		"the last row left out":  {"events", "5", func(_ []string, rows [][]any) [][]any { return rows[:len(rows)-1] }},
		"a byte of a record":     {"records", "1", set("data", `{"id":"b"}`)},
		"a sum":                  {"records", "1", set("sum", int64(7))},
		"a byte that is a text":  {"gaps", "8", set("detail", "ss")},
		"bytes":                  {"checkpoints", "2", set("token", []byte{0})},
		"empty for missing":      {"runs", "3", set("ended_at", nil)},
		"a number":               {"lanes", "7", set("sum", int64(5))},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			for _, to := range []string{server.Fresh(), filepath.Join(t.TempDir(), "copy.db")} {
				source, err := sqlite.Source(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				target, err := targetOf(to)
				if err != nil {
					t.Fatal(err)
				}
				proof, err := transfer.Copy(t.Context(), source, faulty{target, fault.table, fault.do}, quiet)
				if err := errors.Join(source.Close(), target.Close()); err != nil {
					t.Fatal(err)
				}
				unequal, ok := errors.AsType[*store.UnequalError](err)
				if !ok || !slices.Equal(unequal.Tables, []string{fault.table}) {
					t.Fatalf("%s: %v, want that %s is not equal", to, err, fault.table)
				}
				for _, of := range proof.Tables {
					if of.Equal() != (of.Table != fault.table) || !of.Equal() && of.First != fault.first {
						t.Errorf("%s: %+v, want a difference from %s on", to, of, fault.first)
					}
				}
				if proof := copied(t, path, to); !proof.Anew {
					t.Errorf("%s: the next copy is %+v, want one that begins anew", to, proof)
				}
			}
		})
	}
}

// TestServerEnds: a server that ends in the middle ends the copy, which goes on when it is
// there again.
func TestServerEnds(t *testing.T) {
	own, err := pgtest.Start("fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Remove()
	path := filled(t)
	for _, how := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGINT} {
		to := own.Fresh()
		end := func(p transfer.Progress) {
			if p.Table == "gaps" && !p.Comparing {
				own.End(how)
			}
		}
		_, err := copyTo(t.Context(), path, to, end)
		side, ok := errors.AsType[*store.SideError](err)
		if !errors.Is(err, store.ErrUnreachable) || !ok || !side.Copy {
			t.Errorf("%v: %v, want that the copy cannot be reached", how, err)
		}
		if err := own.Begin("fsync=off"); err != nil {
			t.Fatal(err)
		}
		if proof := copied(t, path, to); proof.Resumed < 20 || proof.Anew {
			t.Errorf("%v: the next copy began with %d rows, want those that were copied", how, proof.Resumed)
		}
	}
}

// TestCopyIsStopped: a copy that was interrupted after any table goes on behind it, and one of
// another state begins anew.
func TestCopyIsStopped(t *testing.T) {
	path := filled(t)
	for _, to := range []string{server.Fresh(), filepath.Join(t.TempDir(), "copy.db")} {
		var before int64
		for _, table := range transfer.Tables {
			ctx, stop := context.WithCancel(t.Context())
			_, err := copyTo(ctx, path, to, func(p transfer.Progress) {
				if p.Table == table.Name && !p.Comparing {
					stop()
					before = p.Done
				}
			})
			stop()
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: stopped after %s: %v", to, table.Name, err)
			}
		}
		if proof := copied(t, path, to); proof.Resumed != before || before == 0 {
			t.Errorf("%s: it went on with %d rows of %d", to, proof.Resumed, before)
		}
	}
}

// TestCopyOfAnotherState: what was written between a copy and the next is noticed, and what is
// written while one is made.
func TestCopyOfAnotherState(t *testing.T) {
	path := filled(t)
	order := func(name string) {
		s := open(t, name)
		if _, err := s.Pause(context.Background(), name, true, store.Audit{Who: "ana", Why: "tea"}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	first := server.Fresh()
	for _, hop := range [][2]string{{path, first}, {first, filepath.Join(t.TempDir(), "copy.db")}} {
		from, to := hop[0], hop[1]
		done := false
		_, err := copyTo(t.Context(), from, to, func(p transfer.Progress) {
			if p.Table == "events" && p.Comparing && !done {
				done = true
				order(from)
			}
		})
		if !errors.Is(err, store.ErrChanging) {
			t.Errorf("%s: %v, want that it was written to", from, err)
		}
		if proof := copied(t, from, to); !proof.Anew {
			t.Errorf("%s: the copy of another state was gone on with: %+v", from, proof)
		}
	}
}

// TestNoRunBegins: a store that is copied is not collected into meanwhile, and one that is
// collected into is not copied.
func TestNoRunBegins(t *testing.T) {
	path, served := filled(t), server.Fresh()
	copied(t, path, served)
	for _, name := range []string{path, served} {
		s := open(t, name)
		run := collection.Run{ID: "r9", Connector: "Käse", Lane: collection.Incremental}
		source, err := sourceOf(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Begin(t.Context(), run, nil); !held(err, "") {
			t.Errorf("%s: a run began while it was copied: %v", name, err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
		l, err := s.Begin(t.Context(), run, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sourceOf(t.Context(), name); !held(err, "r9") {
			t.Errorf("%s: it is copied while a run is on: %v", name, err)
		}
		if err := errors.Join(l.Finish(t.Context(), run), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// held reports whether an error says that a run has the lease.
func held(err error, run string) bool {
	is, ok := errors.AsType[*store.HeldError](err)
	return ok && (is.Run.ID == run || run == "")
}

// TestUnfinishedIsNoSource: a copy that is not whole is not copied on, and a store beside is not
// taken for one.
func TestUnfinishedIsNoSource(t *testing.T) {
	path, dir := filled(t), t.TempDir()
	to := filepath.Join(dir, "copy.db")
	ctx, stop := context.WithCancel(t.Context())
	if _, err := copyTo(ctx, path, to, func(transfer.Progress) { stop() }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := copyTo(t.Context(), to+".part", to+"2", quiet); err == nil {
		t.Error("an unfinished copy was copied")
	} else if _, ok := errors.AsType[*store.UnfinishedError](err); !ok {
		t.Error(err)
	}
	other := filepath.Join(dir, "other.db")
	copied(t, path, other+".part")
	change(t, path, `INSERT INTO events (at, kind, connector, run, provider, stream, partition, lane, info) VALUES ('', '', '', '', '', '', '', '', '')`)
	if _, err := copyTo(t.Context(), path, other, quiet); err == nil {
		t.Error("a store was taken for an unfinished copy")
	} else if _, ok := errors.AsType[*store.OccupiedError](err); !ok {
		t.Error(err)
	}
}

// TestDamageIsNotCopied: a record that is not what was stored gets no new sum.
func TestDamageIsNotCopied(t *testing.T) {
	path, to := filled(t), server.Fresh()
	change(t, path, `UPDATE records SET data = '{"id":"z"}' WHERE id = 9`)
	_, err := copyTo(t.Context(), path, to, quiet)
	if is, ok := errors.AsType[*store.ChangedError](err); !ok || is.Record != 9 {
		t.Errorf("%v, want that record 9 is damaged", err)
	}
	if s, err := postgres.Open(t.Context(), to, postgres.Options{}); !errors.Is(err, store.ErrMissing) {
		t.Errorf("there is a store: %v, %v", s, err)
	}
}

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

// readings are all that reads records and cursors.
var readings = map[string]func(context.Context, *sqlite.Store, store.Ledger) error{
	"Records": func(ctx context.Context, s *sqlite.Store, _ store.Ledger) error {
		for _, err := range s.Records(ctx, "acme", "issues") {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Parents": func(ctx context.Context, _ *sqlite.Store, l store.Ledger) error {
		_, err := l.Parents(ctx, "issues", "", 100)
		return err
	},
	"Checkpoint": func(ctx context.Context, _ *sqlite.Store, l store.Ledger) error {
		_, err := l.Checkpoint(ctx, issues)
		return err
	},
	"Commit": func(ctx context.Context, _ *sqlite.Store, l store.Ledger) error {
		_, err := l.Commit(ctx, collection.Slice{Place: issues, From: pageCursor(3), Next: pageCursor(4)})
		return err
	},
	"Gaps": func(ctx context.Context, s *sqlite.Store, _ store.Ledger) error {
		_, err := s.Gaps(ctx, "acme")
		return err
	},
}

// TestChangedValues changes values in ways that SQLite cannot know of, and
// checks that what reads them does not believe them.
func TestChangedValues(t *testing.T) {
	slow(t)
	cases := []struct {
		name, change string
		damaged      []string // of readings
	}{
		{"nothing", `SELECT 1`, nil},
		{"a letter of a record", `UPDATE records SET data = replace(data, 'page', 'pbge') WHERE id = 5`, []string{"Records", "Parents"}},
		{"a record's kind", `PRAGMA writable_schema = ON; UPDATE records SET data = '' WHERE id = 7`, []string{"Records", "Parents"}},
		{"a key", `UPDATE records SET key = '000000-0a' WHERE key = '000000-00'`, []string{"Records", "Parents"}},
		{"a commit", `UPDATE records SET slice_id = 2 WHERE slice_id = 1`, []string{"Records", "Parents"}},
		{"a sum", `UPDATE records SET sum = sum + 1 WHERE id = 60`, []string{"Records", "Parents"}},
		{"a lost row", `DELETE FROM records WHERE id = 60`, []string{"Records"}},
		{"a lost partition", `UPDATE partitions SET id = id + 100 WHERE partition = ''`, []string{"Records"}}, // a walk from the start loses nothing
		{"a token", `UPDATE checkpoints SET token = x'34' WHERE lane = 'incremental'`, []string{"Checkpoint", "Commit"}},
		{"a digest", `UPDATE checkpoints SET digest = x'' WHERE lane = 'incremental'`, []string{"Checkpoint", "Commit"}},
		{"an end", `UPDATE checkpoints SET done = 1 WHERE lane = 'incremental'`, []string{"Checkpoint", "Commit"}},
		{"a gap's token", `UPDATE gaps SET token = x'34'`, []string{"Gaps", "Commit"}},
		{"a time", `UPDATE gaps SET opened_at = 'yesterday'`, []string{"Gaps"}},
	}
	for _, c := range cases {
		for name, read := range readings {
			path := fixture(t, sqlite.Newest())
			s := open(t, path, sqlite.Options{})
			l := begin(t, s, "acme", "run-3")
			execute(c.change)(t, path)
			err := read(t.Context(), s, l)
			want := false
			for _, damaged := range c.damaged {
				want = want || damaged == name
			}
			if want && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: %s gives %v, want %v", c.name, name, err, store.ErrDamaged)
			}
			if c.damaged == nil && err != nil {
				t.Errorf("%s: %s gives %v", c.name, name, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestResetOfADamagedCheckpoint: a reset is the way out where a cursor is not
// what was stored.
func TestResetOfADamagedCheckpoint(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	execute(`UPDATE checkpoints SET token = x'34' WHERE lane = 'incremental'`)(t, path)
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	if err := s.Reset(t.Context(), "acme", issues, collection.Cursor{}, store.Audit{Who: "kim", Why: "damaged"}); err != nil {
		t.Fatal(err)
	}
	cp, err := begin(t, s, "acme", "run-9").Checkpoint(t.Context(), issues)
	if err != nil || cp.Cursor != (collection.Cursor{}) || cp.Commit != 3 {
		t.Errorf("Checkpoint = %+v, %v, want the start, after commit 3", cp, err)
	}
}

// TestSweepOverChangedRecords: a sweep that hands over or marks a record, and a tombstone,
// make no sum anew for one that was changed on the disk: it is found out afterwards.
func TestSweepOverChangedRecords(t *testing.T) {
	for name, key := range map[string]string{"marked": "b", "handed over": "c"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			s := open(t, path, sqlite.Options{Create: true})
			l := beginSweeping(t, s)
			execute(`UPDATE records SET data = '{"id":"x"}' WHERE key = '`+key+`'`)(t, path)
			mustCommit(t, l, listed(sweptPart, "2", "done", "f"))
			checkChanged(t, s)
		})
	}
	t.Run("tombstone", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		s := open(t, path, sqlite.Options{Create: true})
		l := beginSweeping(t, s)
		execute(`UPDATE records SET data = '{"id":"x"}' WHERE key = 'a'`)(t, path)
		sl := listed(sweptPart, "2", "3", "a")
		sl.Records[0].Deleted = true
		if _, err := l.Commit(t.Context(), sl); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("Commit = %v, want that the store is damaged", err)
		}
		checkChanged(t, s)
	})
}

// checkChanged finds out that a record is not what was stored.
func checkChanged(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for _, err := range s.Records(t.Context(), "acme", "projects") {
		if errors.Is(err, store.ErrDamaged) {
			return
		}
	}
	t.Error("a record that was changed passes for what was stored")
}

// TestADamagedRecordIsOfItsConnector: a record that is not what was stored keeps
// its connector from running, also after runs of others went past it, until it is
// what it was.
func TestADamagedRecordIsOfItsConnector(t *testing.T) {
	const damage = `UPDATE records SET `
	for _, c := range []struct {
		name, change, mend string
		refused            []string // connectors that may not run
	}{
		{"data", damage + `data = replace(data, 'page', 'pbge') WHERE id = 5`, damage + `data = replace(data, 'pbge', 'page') WHERE id = 5`, []string{"acme"}},
		{"a stream's number", `PRAGMA writable_schema = ON; ` + damage + `stream_id = (SELECT stream_id FROM records WHERE key = 'other') WHERE id = 5`,
			damage + `stream_id = (SELECT stream_id FROM records WHERE id = 4) WHERE id = 5`, []string{"acme", "globex"}},
		{"no stream's number", `PRAGMA foreign_keys = OFF; ` + damage + `stream_id = 77, data = 'x' WHERE id = 5`, "", []string{"acme", "globex", "initech"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fixture(t, sqlite.Newest())
			runOnce(t, path, "globex")
			execute(c.change)(t, path)
			for range 2 { // the first goes past it
				for _, connector := range []string{"initech", "globex", "acme"} {
					if connector == "acme" && c.mend != "" { // others went on from there in a larger store
						execute(`UPDATE meta SET value = x'0000000000000200' WHERE name = 'scrubbed'`)(t, path)
					}
					err := runOnce(t, path, connector)
					if refused := slices.Contains(c.refused, connector); errors.Is(err, store.ErrDamaged) != refused {
						t.Errorf("Begin of %s = %v, want refused %t", connector, err, refused)
					}
				}
			}
			if c.mend == "" {
				return
			}
			execute(c.mend)(t, path)
			for range 2 {
				for _, connector := range []string{"acme", "globex", "initech"} {
					if err := runOnce(t, path, connector); err != nil {
						t.Errorf("after it was mended, Begin of %s = %v", connector, err)
					}
				}
			}
		})
	}
}

// runOnce begins and ends a run of a connector, which stores a record where that is
// not acme, and returns why it could not begin.
func runOnce(t *testing.T, path, connector string) error {
	t.Helper()
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	runs, err := s.Runs(t.Context(), connector, 1000)
	if err != nil {
		t.Fatal(err)
	}
	place := collection.Place{Stream: "things", Lane: collection.Incremental}
	run := collection.Run{ID: fmt.Sprint(connector, "-again-", len(runs)), Connector: connector, Mode: collection.Forward, Lane: collection.Incremental}
	l, err := s.Begin(t.Context(), run, []collection.Stream{{Name: "things"}})
	if err != nil {
		return err
	}
	if connector != "acme" && len(runs) == 0 {
		records := []collection.Record{{Key: "other", Data: []byte(`{"id":"other"}`)}}
		mustCommit(t, l, collection.Slice{Place: place, Next: pageCursor(1), Records: records})
	}
	return l.Finish(t.Context(), run)
}

package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"collect/collection"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// TestForeignSchema: what collect did not put into a database is told, and a
// backup with it is not restored.
func TestForeignSchema(t *testing.T) {
	slow(t)
	tests := []struct{ name, change, problem string }{
		{"nothing", `SELECT 1`, ""},
		{"a trigger", `CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM gaps; END`, `a trigger that collect did not make: "t"`},
		{"a view for a table", `ALTER TABLE quarantine RENAME TO q; CREATE VIEW quarantine AS SELECT * FROM q`, `a view that collect did not make: "quarantine"`},
		{"a view without an end", `DROP VIEW owed; CREATE VIEW owed AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`, `a view that collect did not make: "owed"`},
		{"a further table", `CREATE TABLE more (x)`, `a table that collect did not make: "more"`},
		{"a further view", `CREATE VIEW more AS SELECT 1`, `a view that collect did not make: "more"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Begin(t.Context(), collection.Run{ID: "r", Connector: "c", Lane: collection.Incremental}, []collection.Stream{{Name: "things", Role: collection.List}})
			if err != nil {
				t.Fatal(err)
			}
			at := collection.Place{Stream: "things", Lane: collection.Incremental}
			if _, err := l.Commit(t.Context(), collection.Slice{Place: at, Next: collection.Cursor{Done: true}, Records: []collection.Record{{Key: "1", Data: []byte(`{"id":1,"with":2}`)}}}); err != nil {
				t.Fatal(err)
			}
			if err := l.Finish(t.Context(), collection.Run{ID: "r", Connector: "c", Outcome: collection.Complete}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(test.change); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := salvage.Examine(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(report.Problems, "; ")
			if test.problem == "" && got != "" || !strings.Contains(got, test.problem) {
				t.Errorf("problems %q, want %q", got, test.problem)
			}
		})
	}
}

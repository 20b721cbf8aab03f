package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/migrations"
	"collect/store/internal/database"
	"collect/store/internal/schema"
	"collect/store/sqlite"
)

// TestWholeSchema: a new store is made at once, as the migrations make it one after
// the other.
func TestWholeSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "versions.db")
	write("")(t, path)
	db := sqlite.Single(path)
	defer db.Close()
	if err := schema.SQLite.Apply(t.Context(), db, func(database.Step) error { return nil }); err != nil {
		t.Fatal(err)
	}
	want := wholeText(t, db)
	if *writeFixture {
		if err := os.WriteFile("../../migrations/sqlite.sql", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return // the next binary has it
	}
	if migrations.SQLiteWhole != want {
		t.Error("migrations/sqlite.sql is not what the migrations make: run scripts/fixture")
	}

	path = filepath.Join(t.TempDir(), "whole.db")
	open(t, path, sqlite.Options{Create: true}).Close()
	whole := sqlite.Single(path)
	defer whole.Close()
	if got := wholeText(t, whole); got != want {
		t.Errorf("a new store is\n%s\nand not as migrations/sqlite.sql says", got)
	}
}

// wholeText returns what makes a new store like that of db, in which nothing is stored.
func wholeText(t *testing.T, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "PRAGMA application_id = %s;\n\n", queryRows(t, db, `PRAGMA application_id`)[0])
	for _, made := range queryRows(t, db, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid`) {
		b.WriteString(made + ";\n\n")
	}
	for _, table := range queryRows(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid`) {
		rows := queryRows(t, db, `SELECT count(*) FROM "`+table+`"`)[0]
		switch {
		case table == schema.Table:
			for _, row := range queryRows(t, db, `SELECT '(' || version_id || ', ' || is_applied || ')' FROM `+table+` ORDER BY id`) {
				fmt.Fprintf(&b, "INSERT INTO %s (version_id, is_applied) VALUES %s;\n", table, row)
			}
		case table == "meta":
			for _, row := range queryRows(t, db, `SELECT '''' || name || ''', ' || lower(typeof(value)) || length(value) FROM meta ORDER BY name`) {
				if row != "'salt', blob32" {
					t.Fatalf("meta has %s, which this test does not know how to make", row)
				}
				b.WriteString("INSERT INTO meta (name, value) VALUES ('salt', randomblob(32));\n")
			}
		case rows != "0":
			t.Errorf("the migrations leave %s rows in %s, which this test does not know how to make", rows, table)
		}
	}
	return b.String()
}

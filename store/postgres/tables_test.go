package postgres_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collect/store/postgres"
	"collect/store/sqlite"
)

// TestTablesOfSQLite holds the tables that migrations/postgres makes against those of
// migrations/sqlite: the statements are the same for both. Postgres may have tables
// more, for what only several machines need.
func TestTablesOfSQLite(t *testing.T) {
	db := open(t, address(), postgres.Options{Create: true})
	defer db.Close()
	pool := postgres.Sessions(db)
	defer pool.Close()
	got := columns(t, pool, `
		SELECT c.table_name || '.' || c.column_name
			|| CASE c.data_type WHEN 'text' THEN ' TEXT' WHEN 'bytea' THEN ' BLOB' WHEN 'bigint' THEN ' INTEGER' ELSE ' ' || c.data_type END
		FROM information_schema.columns c JOIN information_schema.tables t
			ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
		WHERE c.table_schema = current_schema() AND c.table_name <> 'goose_db_version'`)

	path := filepath.Join(t.TempDir(), "state.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := sql.Open("sqlite", path) // the driver that store/sqlite brings
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := columns(t, file, `
		SELECT t.name || '.' || c.name || ' ' || c.type FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'goose_db_version'`)

	// Where a kernel frees the lock of a file, the lease has no end; on a server it has one.
	want = append(want, "leases.expires_at timestamp with time zone")
	slices.Sort(want)
	shared := map[string]bool{}
	for _, c := range want {
		shared[table(c)] = true
	}
	got = slices.DeleteFunc(got, func(c string) bool { return !shared[table(c)] })
	if len(want) < 50 {
		t.Errorf("SQLite has only these columns: %q", want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("only in Postgres: %q\nonly in SQLite: %q", without(got, want), without(want, got))
	}
}

// table returns the table of a column.
func table(column string) string {
	name, _, _ := strings.Cut(column, ".")
	return name
}

// columns returns what a query of one column says, sorted.
func columns(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// without returns the elements of a that b has not.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

package sqlite_test

import (
	"database/sql"
	"slices"
	"testing"

	"collect/store/sqlite"
)

// TestThePastIsBounded: of what is over, a connector keeps the newest 20,000
// events and gaps, and others keep theirs. What is owed stays, and so does what a person
// ordered, however long ago.
func TestThePastIsBounded(t *testing.T) {
	slow(t)
	path := fixture(t, sqlite.Newest())
	execute(`
		INSERT INTO events (at, kind, connector, run, provider, stream, partition, lane, info) VALUES
			('2025-01-01T00:00:00.000000Z', 'gap.waived', 'acme', '', '', '', '', '', '{"message":"ana: old"}'),
			('2025-01-01T00:00:01.000000Z', 'freeze.changed', 'acme', '', 'acme', '', '', '', '{"freeze":{"frozen":false,"reason":"released_by_operator"}}'),
			('2025-01-01T00:00:02.000000Z', 'freeze.changed', 'acme', '', 'acme', '', '', '', '{"freeze":{"frozen":true,"reason":"forbidden"}}');
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40200)
		INSERT INTO events (at, kind, connector, run, provider, stream, partition, lane, info)
			SELECT '2026-01-01T00:00:00.000000Z', 'old', iif(i % 2, 'acme', 'half'), '', '', '', '', '', '{}' FROM n;
		CREATE TEMP TABLE closed AS SELECT * FROM gaps;
		UPDATE closed SET id = NULL, state = 'recovered', closed_at = opened_at;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40200)
		INSERT INTO gaps SELECT closed.* FROM n, closed;
		UPDATE gaps SET stream_id = (SELECT id FROM streams WHERE connector = 'half' AND name = 'issues')
			WHERE closed_at IS NOT NULL AND id % 2 = 0`)(t, path)
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	events, gaps := `SELECT connector, count(*) FROM events WHERE kind = 'old' GROUP BY 1 ORDER BY 1`,
		`SELECT s.connector, count(*), count(closed_at) FROM gaps g JOIN streams s ON s.id = g.stream_id GROUP BY 1 ORDER BY 1`
	if got, want := queryRows(t, db, events), []string{"acme|20100", "half|20100"}; !slices.Equal(got, want) {
		t.Fatalf("events: %q, want %q", got, want)
	}

	begin(t, s, "acme", "run-9") // and its two events
	if got, want := queryRows(t, db, events), []string{"acme|19998", "half|20100"}; !slices.Equal(got, want) {
		t.Errorf("events: %q, want %q", got, want)
	}
	orders := `SELECT kind, info ->> '$.freeze.reason' FROM events WHERE at < '2025-02-01' ORDER BY at`
	if got, want := queryRows(t, db, orders), []string{"gap.waived|NULL", "freeze.changed|released_by_operator"}; !slices.Equal(got, want) {
		t.Errorf("of the orders of long ago: %q, want %q", got, want)
	}
	if got, want := queryRows(t, db, gaps), []string{"acme|20001|20000", "half|20100|20100"}; !slices.Equal(got, want) {
		t.Errorf("gaps, of these closed: %q, want %q", got, want)
	}
}

package transfer_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/internal/pgtest"
	"collect/store"
	"collect/store/internal/format"
	"collect/store/postgres"
	"collect/store/sqlite"
	"collect/store/transfer"
)

var server *pgtest.Server

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m, &server)) }

// all fills every table of a store with what is hard to copy: names outside ASCII, bytes
// that are no text, values that are empty or missing, numbers that are not in a row.
const all = `
INSERT INTO streams (id, connector, name, role, parent, refresh, ordered, position, view, records) VALUES
	(1, 'Käse', 'läden', 'list', '', 'each_run', 1, 0, 'K_se_l_den', 3), (7, '日本', 'o''x', 'detail', 'läden', 'once', 0, 1, '___o_x', 0);
INSERT INTO fields (stream_id, position, name, escaped) VALUES (1, 0, 'id', 0), (1, 1, 'naïve " \ field', 1), (1, 2, char(0, 1, 7), 1);
INSERT INTO schemas (stream_id, schema) VALUES (1, '{"id":1}');
INSERT INTO sweeps (stream_id, accepted) VALUES (1, 0), (7, 12);
INSERT INTO partitions (id, stream_id, partition) VALUES (2, 1, ''), (5, 7, '{"läden":"1"}'), (1000000000000, 7, '{"läden":"2"}');
INSERT INTO slices (id, partition_id, lane, run, epoch, previous, fills, records, changed, rejected, older, deleted, done, committed_at, span) VALUES
	(1, 2, 'incremental', 'r1', 1, 0, 0, 3, 3, 1, 0, 0, 0, '2026-01-01T00:00:00Z', ''), (3, 2, 'incremental', 'r1', 1, 1, 0, 0, 0, 0, 0, 1, 1, '2026-01-01T00:00:01Z', '{"a":1}');
INSERT INTO records (id, stream_id, key, partition_id, slice_id, data, mark_scale, mark, pass, deleted) VALUES
	(1, 1, 'a', 2, 1, '{"id":"a"}', '', '', 0, 0), (2, 1, 'ä' || char(1) || 'x', 2, 1, '{"x":"\u0000","y":1.50}', 't', '2026-01-01', 1, 0),
	(9, 1, char(1, 2, 3), 2, 1, CAST(x'7b22ff01fe02227d' AS TEXT), '', '', 0, 3);
INSERT INTO quarantine (id, stream_id, partition_id, reason, digest, data, seen, first_slice, last_slice, key) VALUES
	(4, 1, 2, 'no_key', x'00ff', x'00010203fffe', 2, 1, 1, ''), (6, 1, 2, 'bad_key', x'', x'', 1, 1, 1, 'ö');
INSERT INTO checkpoints (partition_id, lane, token, since, high, version, done, meaning, digest, slice_id, epoch, saved_at, evidence) VALUES
	(2, 'incremental', x'00ff', x'', x'', x'', 1, x'', x'01', 3, 1, '2026-01-01T00:00:01Z', ''), (2, 'backfill', x'', x'', x'', x'', 0, x'', x'02', 0, 1, '2026-01-01T00:00:01Z', '{}');
INSERT INTO lanes (stream_id, lane, partitions, done, sum, saved_at) VALUES (7, 'incremental', 2, 1, -5, '2026-01-01T00:00:01Z');
INSERT INTO gaps (id, stream_id, partition_id, lane, token, since, high, version, done, meaning, digest, covers, shape, reason, kind, detail, state, behind, attempts, not_before, opened_at, tried_at, closed_at, run, deferred_epoch, leased_epoch, waived_at, waived_by, waived_why) VALUES
	(8, 1, 2, 'incremental', x'01', x'', x'', x'', 0, x'', x'03', x'', 'SLICE_GAP', 'throttled', 'provider', 'ß', 'open', 0, 2, '2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z', NULL, NULL, 'r1', 1, 0, NULL, '', ''),
	(11, 1, 2, 'incremental', x'02', x'', x'', x'', 0, x'', x'04', x'', 'DETAIL_GAP', 'gone', 'stuck', '', 'dead', 1, 1, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL, 'r1', 1, 1, '2026-01-03T00:00:00Z', 'ana', 'weg');
INSERT INTO sightings (record_id, partition_id, seen) VALUES (1, 2, 1), (9, 2, 0);
INSERT INTO claims (record_id, partition_id, seen) VALUES (1, 5, 1);
INSERT INTO runs (number, id, connector, mode, lane, params, domain, accounts, source, outcome, reason, host, pid, epoch, started_at, beat_at, ended_at, exit_code, requests, retries, throttled, slices, records, changed, rejected, older, deleted, gaps_open, gaps_shut, waited) VALUES
	(3, 'r1', 'Käse', 'run', 'incremental', '{}', 'shop/1', '[]', '/k.yaml', 'complete', '', 'h', 1, 1, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '2026-01-01T00:00:02Z', 0, 3, 0, 0, 2, 3, 3, 1, 0, 1, 1, 0, '{}'),
	(4, 'r2', 'Käse', 'run', 'incremental', '{}', 'shop/1', '[]', '/k.yaml', 'running', '', 'h', 1, 2, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', NULL, -1, 3, 0, 0, 2, 3, 3, 1, 0, 1, 1, 0, '{}');
INSERT INTO leases (connector, epoch, run, host, pid, since, beat_at, writes) VALUES
	('Käse', 2, 'r2', 'h', 1, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 12), ('日本', 1, NULL, '', 0, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 1);
INSERT INTO provider_state (domain, state, saved_at) VALUES ('shop/1', '{"budget":[{"n":3}],"freeze":{"reason":"ü"}}', '2026-01-01T00:00:00Z');
INSERT INTO traffic (connector, counts) VALUES ('Käse', '{}');
INSERT INTO pauses (connector, at, who, why) VALUES ('日本', '2026-01-01T00:00:00Z', 'ana', 'Pause ☕');
INSERT INTO events (id, at, kind, connector, run, provider, stream, partition, lane, info) VALUES
	(5, '2026-01-01T00:00:00Z', 'gap.waived', 'Käse', 'r1', 'shop', 'läden', '', 'incremental', '{"message":"😀"}'), (90, '2026-01-01T00:00:00Z', 'x', 'Käse', '', '', '', '', '', '{}');
DELETE FROM events WHERE id = 90;
`

// filled returns the path of a file whose every table has rows.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, path, all)
	sum(t, path)
	return path
}

// change runs statements on a file.
func change(t *testing.T, path, statements string) {
	t.Helper()
	file, err := sql.Open("sqlite", path) // the driver that store/sqlite brings
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

// sum gives the records of a file their sums.
func sum(t *testing.T, path string) {
	t.Helper()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := file.QueryContext(t.Context(), `SELECT id, stream_id, partition_id, slice_id, key, data, mark_scale, mark, deleted FROM records`)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[int64]int64{}
	for rows.Next() {
		var id, stream, partition, slice, deleted int64
		var key, data string
		var mark collection.Mark
		if err := rows.Scan(&id, &stream, &partition, &slice, &key, &data, &mark.Scale, &mark.Value, &deleted); err != nil {
			t.Fatal(err)
		}
		sums[id] = format.RecordSum(stream, partition, slice, key, data, mark, deleted)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	for id, sum := range sums {
		if _, err := file.ExecContext(t.Context(), `UPDATE records SET sum = ? WHERE id = ?`, sum, id); err != nil {
			t.Fatal(err)
		}
	}
}

// copyTo copies between two names, which are addresses or paths.
func copyTo(ctx context.Context, from, to string, told func(transfer.Progress)) (proof transfer.Proof, err error) {
	source, err := sourceOf(ctx, from)
	if err != nil {
		return proof, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := targetOf(to)
	if err != nil {
		return proof, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return transfer.Copy(ctx, source, target, told)
}

func served(name string) bool { return strings.HasPrefix(name, "postgres:") }

func sourceOf(ctx context.Context, name string) (transfer.Source, error) {
	if served(name) {
		return postgres.Source(ctx, name)
	}
	return sqlite.Source(ctx, name)
}

func targetOf(name string) (transfer.Target, error) {
	if served(name) {
		return postgres.Target(name)
	}
	return sqlite.Target(name)
}

func quiet(transfer.Progress) {}

// copied copies a store that must be equal, and returns the proof.
func copied(t *testing.T, from, to string) transfer.Proof {
	t.Helper()
	proof, err := copyTo(t.Context(), from, to, quiet)
	if err != nil {
		t.Fatalf("%s to %s: %v %+v", from, to, err, proof)
	}
	return proof
}

// digests returns what a proof says of the tables, and fails if one of them is empty.
func digests(t *testing.T, p transfer.Proof) string {
	t.Helper()
	var b strings.Builder
	for _, of := range p.Tables {
		if of.Rows == 0 || !of.Equal() {
			t.Errorf("%+v: want rows, and the same", of)
		}
		b.WriteString(of.Table + " " + of.Digest + "\n")
	}
	return b.String()
}

// TestCopy: from a file to a server, to another schema of it, and back: always the same.
func TestCopy(t *testing.T) {
	first, back := filled(t), filepath.Join(t.TempDir(), "back.db")
	one, two := server.Fresh(), server.Fresh()
	want := digests(t, copied(t, first, one))
	for _, hop := range [][2]string{{one, two}, {two, back}, {back, back + "2"}} {
		if got := digests(t, copied(t, hop[0], hop[1])); got != want {
			t.Errorf("%s to %s:\n%s\nwant\n%s", hop[0], hop[1], got, want)
		}
	}
}

// TestCopyThatWasKilledWhenDone: a copy that died once it had its name leaves only a lock,
// and the next one to that name takes it away.
func TestCopyThatWasKilledWhenDone(t *testing.T) {
	path, to := filled(t), filepath.Join(t.TempDir(), "copy.db")
	copied(t, path, to)
	lock := to + ".part.lock.copy"
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := copyTo(t.Context(), path, to, quiet)
	if _, ok := errors.AsType[*store.OccupiedError](err); !ok {
		t.Errorf("%v, want that the name is taken", err)
	}
	if _, err := os.Lstat(lock); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock is still there: %v", err)
	}
}

// TestCopyReplacesNothing: what is there stays.
func TestCopyReplacesNothing(t *testing.T) {
	path, to := filled(t), server.Fresh()
	copied(t, path, to)
	for _, at := range []string{path, to} {
		if _, err := copyTo(t.Context(), path, at, quiet); err == nil {
			t.Errorf("%s was replaced", at)
		} else if _, ok := errors.AsType[*store.OccupiedError](err); !ok {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestTablesAreAll: the list of tables, and their keys, are those of the schema.
func TestTablesAreAll(t *testing.T) {
	file, err := sql.Open("sqlite", filled(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var want, got []string
	rows, err := file.QueryContext(t.Context(), `SELECT t.name || ' ' || (SELECT group_concat(c.name, ', ') FROM (SELECT name FROM pragma_table_info(t.name) WHERE pk > 0 ORDER BY pk) c)
		FROM sqlite_schema t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'goose_db_version'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		want = append(want, table)
	}
	for _, table := range transfer.Tables {
		got = append(got, table.Name+" "+strings.Join(table.Key(), ", "))
	}
	slices.Sort(got)
	slices.Sort(want)
	if err := rows.Err(); err != nil || !slices.Equal(got, want) {
		t.Errorf("Tables are\n%q, the schema has\n%q, %v", got, want, err)
	}
}

// TestNumbersGoOn: what a copy stores next has a number that no row ever had, and the views
// show its records.
func TestNumbersGoOn(t *testing.T) {
	path, to, dir := filled(t), server.Fresh(), t.TempDir()
	file, again := filepath.Join(dir, "file.db"), filepath.Join(dir, "again.db")
	copied(t, path, to)
	copied(t, to, file)
	for _, name := range []string{to, file} {
		s := open(t, name)
		if _, err := s.Pause(t.Context(), "neu", true, store.Audit{Who: "ana", Why: "tea"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	copied(t, to, again)
	for _, name := range []string{file, again} {
		var number, shown int
		ask(t, name, &number, `SELECT max(id) FROM events`)
		ask(t, name, &shown, `SELECT count(*) FROM K_se_l_den`)
		if number != 91 || shown != 3 {
			t.Errorf("%s: the next event is number %d, and the view has %d records, want 91 and 3", name, number, shown)
		}
	}
}

// TestNumbersAfterACopy: rows that were copied with their numbers are not in the way of those that come.
func TestNumbersAfterACopy(t *testing.T) {
	path, to, back := filled(t), server.Fresh(), filepath.Join(t.TempDir(), "back.db")
	copied(t, path, to)
	copied(t, to, back)
	for _, name := range []string{to, back} {
		s := open(t, name)
		l, err := s.Begin(t.Context(), collection.Run{ID: "run of bees", Connector: "bees", StartedAt: time.Now()}, []collection.Stream{{Name: "hives"}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Commit(t.Context(), collection.Slice{Place: collection.Place{Stream: "hives", Lane: collection.Incremental},
			Next: collection.Cursor{Done: true}, Records: []collection.Record{{Key: "1", Data: []byte(`{"id":1}`)}}})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Errorf("%s: Commit after a copy: %v", name, err)
		}
	}
}

// open opens a store to change it.
func open(t *testing.T, name string) (s store.Store) {
	t.Helper()
	var err error
	if served(name) {
		s, err = postgres.Open(t.Context(), name, postgres.Options{})
	} else {
		s, err = sqlite.Open(t.Context(), name, sqlite.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask asks a file for one number.
func ask(t *testing.T, path string, n *int, query string) {
	t.Helper()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.QueryRowContext(t.Context(), query).Scan(n); err != nil {
		t.Fatal(err)
	}
}

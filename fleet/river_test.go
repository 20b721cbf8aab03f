package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"collect/fleet"
)

// riverTables is what the migration reads of River's tables, which kept the turns in version 1.
const riverTables = `
	CREATE TYPE river_job_state AS ENUM ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
	CREATE TABLE river_job (
		id bigserial PRIMARY KEY, state river_job_state NOT NULL DEFAULT 'available', kind text NOT NULL, queue text NOT NULL DEFAULT 'default',
		priority smallint NOT NULL DEFAULT 1, attempt smallint NOT NULL DEFAULT 0, args jsonb NOT NULL, attempted_by text[],
		attempted_at timestamptz, scheduled_at timestamptz NOT NULL DEFAULT now(), finalized_at timestamptz
	);
	CREATE FUNCTION river_job_state_in_bitmask(bitmask BIT(8), state river_job_state) RETURNS boolean LANGUAGE SQL IMMUTABLE AS 'SELECT true';
	CREATE UNIQUE INDEX river_job_unique_idx ON river_job (args) WHERE river_job_state_in_bitmask(B'11111111', state);
	CREATE UNLOGGED TABLE river_leader (name text PRIMARY KEY, expires_at timestamptz NOT NULL);
	CREATE TABLE river_queue (name text PRIMARY KEY);
	CREATE TABLE river_migration (line text, version bigint);
	CREATE TABLE river_notification (id bigserial PRIMARY KEY);
	INSERT INTO river_job (id, state, kind, args, attempted_by, attempted_at, scheduled_at, finalized_at) VALUES
		(11, 'running', 'turn', '{"connector": "ants", "epoch": 4}', '{dead-1,old-1}', now() - interval '3 s', now() - interval '9 s', NULL),
		(12, 'available', 'turn', '{"connector": "ants", "epoch": 5}', NULL, NULL, now() - interval '8 s', NULL),
		(13, 'scheduled', 'turn', '{"connector": "bees", "epoch": 0}', '{old-1}', now() - interval '9 s', now() + interval '1 hour', NULL),
		(14, 'completed', 'turn', '{"connector": "cats", "epoch": 7}', '{old-1}', now(), now(), now())`

// asVersion1 makes the tables of a fleet what they were with River.
func (p *place) asVersion1() {
	p.Helper()
	p.exec(`DROP TABLE fleet_turns; ALTER TABLE fleet_workers DROP COLUMN lacks; ALTER TABLE fleet_version DROP COLUMN least; UPDATE fleet_version SET version = 1;` + riverTables)
}

func (p *place) exec(query string) {
	p.Helper()
	if err := fleet.Exec(p.Context(), p.fleet, query); err != nil {
		p.Fatalf("%s: %v", query, err)
	}
}

func (p *place) text(query string) (text string) {
	p.Helper()
	if err := fleet.One(p.Context(), p.fleet, query, &text); err != nil {
		p.Fatalf("%s: %v", query, err)
	}
	return text
}

const (
	turnsThere = `SELECT coalesce(string_agg(format('%s %s %s %s %s', id, connector, epoch, coalesce(worker, '-'), due_at > now()), ', ' ORDER BY id), '') FROM fleet_turns`
	riverThere = `SELECT coalesce(string_agg(relname, ' ' ORDER BY relname), '') FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relname LIKE 'river%' AND relkind IN ('r', 'v')`
	carried = "11 ants 4 old-1 f, 12 ants 5 - f, 13 bees 0 - t"
)

// TestRiverGoes: the turns that River's tables keep are there after the migration, with the worker
// that has them in hand, and the tables are not; new turns come after them.
func TestRiverGoes(t *testing.T) {
	p := newPlace(t)
	p.asVersion1()
	p.open()
	if got := p.text(turnsThere); got != carried {
		t.Errorf("turns:\n%s\nwant:\n%s", got, carried)
	}
	if got, want := p.text(riverThere), "river_job"; got != want {
		t.Errorf("of River is left: %s, want %s", got, want)
	}
	p.enqueue("bees", "dogs")
	if got, want := p.text(turnsThere), "11 ants 4 old-1 f, 12 ants 5 - f, 13 bees 0 - f, 16 dogs 0 - f"; got != want {
		t.Errorf("turns:\n%s\nwant:\n%s", got, want)
	}
}

// TestVersion1 does what a worker of version 1 did until it had seen the new number: it takes nothing, and
// neither ends a turn nor inserts one.
func TestVersion1(t *testing.T) {
	p := newPlace(t)
	p.asVersion1()
	p.open()
	const own = `UPDATE river_job SET state = 'completed', finalized_at = clock_timestamp()
		WHERE id = 11 AND state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = 'old-1'`
	p.exec(own)
	for _, query := range []string{
		`SELECT count(*)::text FROM river_job j WHERE j.kind = 'turn' AND j.state = 'running' AND NOT EXISTS (SELECT 1 FROM fleet_workers s
			WHERE s.id = j.attempted_by[array_upper(j.attempted_by, 1)] AND (j.id = ANY (s.jobs) OR j.attempted_at > now()))`,
		`SELECT count(*)::text FROM river_job WHERE queue = 'default' AND priority = 1 AND state IN ('scheduled', 'retryable') AND scheduled_at <= now()`,
		`SELECT count(*)::text FROM river_job WHERE state IN ('completed', 'cancelled') AND finalized_at < now()`,
		`SELECT (version > 1)::int - 1 || '' FROM fleet_version`,
	} {
		if got := p.text(query); got != "0" {
			t.Errorf("%s: %s, want 0", query, got)
		}
	}
	if err := fleet.Exec(t.Context(), p.fleet, `INSERT INTO river_job (kind, args) VALUES ('turn', '{}')`); err == nil {
		t.Error("a turn was inserted where nobody takes it")
	}
	if got := p.text(turnsThere); got != carried {
		t.Errorf("turns:\n%s\nwant:\n%s", got, carried)
	}
}

// TestRiverOfOthers: what somebody else has in River's tables stays, in this schema and in others, beside a
// client of theirs that is on, too.
func TestRiverOfOthers(t *testing.T) {
	for name, theirs := range map[string]string{
		"a job":    `INSERT INTO river_job (kind, args) VALUES ('mail', '{"to": "bob"}')`,
		"a client": `INSERT INTO river_leader VALUES ('default', clock_timestamp() + interval '1 minute')`,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.asVersion1()
			p.exec(theirs)
			p.open()
			if got := p.text(turnsThere); got != carried {
				t.Errorf("turns:\n%s\nwant:\n%s", got, carried)
			}
			if got, want := p.text(riverThere), "river_job river_leader river_migration river_notification river_queue"; got != want {
				t.Errorf("of River is left: %s, want %s", got, want)
			}
			if got := p.text(`SELECT coalesce(string_agg(kind, ' '), '') FROM river_job`); strings.Contains(got, "turn") || name == "a job" && got != "mail" {
				t.Errorf("jobs: %q", got)
			}
		})
	}
	p := newPlace(t)
	p.asVersion1()
	other := p.text(`SELECT current_schema() || '_theirs'`)
	p.exec(fmt.Sprintf(`CREATE SCHEMA %s; SET LOCAL search_path = %[1]s; %s`, other, riverTables))
	p.open()
	if got := p.text(`SELECT count(*)::text FROM ` + other + `.river_job`); got != "4" {
		t.Errorf("%s jobs are left in another schema, want 4", got)
	}
}

package main_test

import (
	"strings"
	"testing"
)

// TestRights: a user of the database who may not do what a command needs, and a program that is older than the store, are
// told in one error with its exit code, and lose nothing. Two fleets in one database do not hear of each other.
func TestRights(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	s := newSite(t, 3, "ants")
	ours, guest := s.address, strings.Replace(s.address, "user=collect", "user=guest", 1)
	others := strings.Replace(s.address, "search_path=collect", "search_path=others", 1)
	sql := func(statements string) {
		t.Helper()
		if _, err := s.db.Exec(statements); err != nil {
			t.Fatal(err)
		}
	}
	run := func(address string, code int, word string, args ...string) {
		t.Helper()
		s.address = address
		c := s.collect(args...)
		out, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), word) {
			t.Errorf("collect %v as %s: exit code %d, want %d, and %q in:\n%s", args, address, got, code, word, out)
		}
		s.address = ours
	}
	const stored = `SELECT count(*) FROM collect.records`

	sql(`CREATE ROLE guest LOGIN`)
	run(guest, 74, "E0709", "run", "ants", "--create")
	run(guest, 74, "E0709", "worker", "--create")
	run(ours, 0, "", "run", "ants", "--create", "--max-requests", "1")
	run(guest, 74, "E0709", "status")
	sql(`GRANT USAGE ON SCHEMA collect TO guest; GRANT SELECT ON ALL TABLES IN SCHEMA collect TO guest`)
	run(guest, 0, "ants", "status")
	run(guest, 74, "E0709", "run", "ants")
	run(guest, 74, "E0709", "worker")
	sql(`GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA collect TO guest; GRANT USAGE ON ALL SEQUENCES IN SCHEMA collect TO guest;
		REVOKE INSERT ON collect.records FROM guest`)
	run(guest, 74, "E0709", "run", "ants")
	if n := s.one(stored); n != sitePage {
		t.Errorf("%d records are stored, want the %d of before", n, sitePage)
	}
	run(ours, 0, "", "resume", "ants")
	if n := s.one(stored); n != 3*sitePage {
		t.Errorf("%d records are stored, want %d", n, 3*sitePage)
	}

	run(others, 0, "", "run", "ants", "--create", "--max-requests", "1")
	run(others, 0, "", "enqueue", "ants", "--reason", "a test")
	run(others, 0, `"connector":"ants"`, "fleet", "--json")
	run(ours, 0, `"waits":[]`, "fleet", "--json")

	sql(`CREATE TABLE public.kept AS SELECT * FROM collect.goose_db_version WHERE version_id = (SELECT max(version_id) FROM collect.goose_db_version);
		DELETE FROM collect.goose_db_version WHERE version_id = (SELECT version_id FROM public.kept)`)
	run(guest, 74, "E0709", "run", "ants")
	run(guest, 75, "E0711", "status")
	sql(`INSERT INTO collect.goose_db_version OVERRIDING SYSTEM VALUE SELECT * FROM public.kept`)
	run(guest, 0, "ants", "status")

	sql(`UPDATE collect.goose_db_version SET version_id = 999 WHERE version_id > 0`)
	run(ours, 78, "E0703", "run", "ants")
	run(ours, 78, "E0703", "worker", "--create")
	run(others, 0, "", "resume", "ants")
}

package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// TestExamine damages one thing at a time, in ways that leave all others
// whole: the report says what, and nothing else, and no more of it than it
// promises.
func TestExamine(t *testing.T) {
	slow(t)
	odd := func(table string) string {
		return fmt.Sprintf("1 rows of %s hold values that no version of collect writes", table)
	}
	for _, c := range []struct{ change, problem string }{
		{`UPDATE records SET data = 'x' WHERE id = 3`, "records of acme that differ from what was stored: 1 (number 3)"},
		{`UPDATE records SET data = 'x' WHERE id <= 5`, "records of acme that differ from what was stored: 5 (number 1, 2, 3, 4, 5)"},
		{`UPDATE records SET data = 'x' WHERE id <= 6`, "records of acme that differ from what was stored: 6 (number 1, 2, 3, 4, 5, …)"},
		{`UPDATE streams SET records = 2 WHERE name = 'comments' AND connector = 'acme'`, "1 of 2 records of comments were found"},
		{`UPDATE lanes SET done = done + 1`, "the partitions of streams are counted wrong in 1 lanes"},
		{`DELETE FROM lanes`, "the partitions of streams are counted wrong in 1 lanes"},
		{`INSERT INTO lanes VALUES (2, 'backfill', 3, 1, 0, '')`, "the partitions of streams are counted wrong in 1 lanes"},
		{`DROP VIEW acme_issues`, "the view of issues is not there"},
		{`DROP VIEW acme_issues; CREATE VIEW acme_issues AS SELECT json_extract('{', '$.a') AS a`,
			"the view acme_issues cannot be read: SQL logic error: malformed JSON (1)"},
		{`DROP VIEW owed; CREATE VIEW owed AS SELECT * FROM gone`, "the view owed cannot be read: SQL logic error: no such table: main.gone (1)"},
		{`UPDATE quarantine SET partition_id = 999`, "1 rows of quarantine name rows of partitions that are not there"},
		{`UPDATE quarantine SET data = x'00'`, "1 records in quarantine are not what was stored"},
		{`UPDATE checkpoints SET token = x'34' WHERE lane = 'backfill'`, "1 cursors of checkpoints are not what was stored"},
		{`UPDATE gaps SET token = x'34'`, "1 cursors of gaps are not what was stored"},
		{`UPDATE meta SET value = x'00' WHERE name = 'salt'`, odd("meta")},
		{`UPDATE streams SET role = 'x' WHERE id = 1`, odd("streams")},
		{`UPDATE partitions SET partition = '{' WHERE id = 1`, "the partitions of streams are counted wrong in 2 lanes\n" + odd("partitions")},
		{`UPDATE checkpoints SET saved_at = 'soon' WHERE lane = 'backfill'`, odd("checkpoints")},
		{`UPDATE checkpoints SET slice_id = 1000 WHERE lane = 'backfill'`, odd("checkpoints")},
		{`UPDATE slices SET previous = id WHERE id = 2`, odd("slices")},
		{`UPDATE gaps SET kind = 'x'`, odd("gaps")},
		{`UPDATE gaps SET closed_at = opened_at`, odd("gaps")},
		{`UPDATE provider_state SET state = '{'`, odd("provider_state")},
		{`UPDATE events SET info = '{' WHERE id = 1`, odd("events")},
		{`DROP TABLE quarantine`, "SQL logic error: no such table: quarantine (1)"},
		{`UPDATE runs SET waited = '{' WHERE number = 1`, odd("runs")},
	} {
		t.Run(c.change, func(t *testing.T) {
			t.Parallel()
			path := fixture(t, sqlite.Newest())
			execute(c.change)(t, path)
			before := hashOf(t, path)
			report, err := salvage.Examine(t.Context(), path)
			if err != nil || !slices.Equal(report.Problems, strings.Split(c.problem, "\n")) {
				t.Errorf("Examine = %q, %v, want %q", report.Problems, err, c.problem)
			}
			if hashOf(t, path) != before {
				t.Error("examining changed the database")
			}
		})
	}
}

// TestExamineWhole: the report of a database that is well says how large it is.
func TestExamineWhole(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	report, err := salvage.Examine(t.Context(), path)
	if err != nil || len(report.Problems) > 0 || report.Size == 0 || report.Log != 0 || report.Records != 81 ||
		report.Schema != sqlite.Newest() || !strings.HasPrefix(report.Library, "3.") {
		t.Errorf("Examine = %+v, %v, want 81 records of schema %d", report, err, sqlite.Newest())
	}
	if report, err := salvage.Examine(t.Context(), killed(t)); err != nil || len(report.Problems) > 0 || report.Log == 0 {
		t.Errorf("of a run that was killed: %+v, %v, want its log", report, err)
	}
}

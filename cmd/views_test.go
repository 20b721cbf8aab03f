package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/texttest"
	"collect/report"
	"collect/store"
)

var updateViews = flag.Bool("update", false, "write the captures of views under testdata/views")

// Frames are pure functions of what is known, of the width and of what the output can
// show. The captures under testdata/views are to be read: 80 columns with colours, and
// without (NO_COLOR), 100 columns, 50 columns, and a locale without UTF-8 (LANG=C).
func TestViews(t *testing.T) {
	all := gapsAndTimes()
	for name, frame := range map[string]func(columns int, c term.Caps) string{
		"status":        func(n int, c term.Caps) string { return statusTable(fiveConnectors(), noon, n, c) },
		"status-wide":   func(n int, c term.Caps) string { return statusWide(fiveConnectors(), noon, n, c) },
		"status-detail": func(n int, c term.Caps) string { return statusDetail(fiveConnectors()[3], noon, n, c) },
		"gaps": func(n int, c term.Caps) string {
			return gapsTable(looked{name: "tickets", now: noon}, owedToday(), 0, n, c)
		},
		"calendar":    func(n int, c term.Caps) string { return calendarText(all, n, c) },
		"runs":        func(n int, c term.Caps) string { return runsTable("", manyRuns(), noon, n, c) },
		"run-view":    func(n int, c term.Caps) string { return runViewText(pausedRun(), n, c) },
		"explain":     func(n int, c term.Caps) string { return renderExplanation(paced(), n, c) },
		"explain-gap": func(n int, c term.Caps) string { return renderGap(owedGap(collection.RetryAfter), n, c) },
	} {
		t.Run(name, func(t *testing.T) { capture(t, name, frame) })
	}
}

func capture(t *testing.T, name string, frame func(columns int, c term.Caps) string) {
	var b bytes.Buffer
	for _, shown := range []struct {
		how     string
		columns int
		caps    term.Caps
	}{
		{"80 columns, colours", 80, term.Caps{UTF8: true, Color: true}},
		{"80 columns, NO_COLOR", 80, term.Caps{UTF8: true}},
		{"100 columns, NO_COLOR", 100, term.Caps{UTF8: true}},
		{"50 columns, NO_COLOR", 50, term.Caps{UTF8: true}},
		{"80 columns, NO_COLOR, LANG=C", 80, term.Caps{}},
		{"50 columns, NO_COLOR, LANG=C", 50, term.Caps{}},
	} {
		text := frame(shown.columns, shown.caps)
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if !shown.caps.Color && term.Width(line) > shown.columns && !strings.Contains(line, "collect ") { // commands are to be copied
				t.Errorf("%s: %d columns are too many: %q", shown.how, term.Width(line), line)
			}
			if ascii := strings.IndexFunc(line, func(r rune) bool { return r >= 0x80 }) < 0; !shown.caps.UTF8 && !ascii {
				t.Errorf("%s: a letter that the locale does not have: %q", shown.how, line)
			}
		}
		fmt.Fprintf(&b, "== %s\n%s\n", shown.how, strings.ReplaceAll(text, "\x1b", "ESC"))
	}
	path := filepath.Join("testdata", "views", name+".txt")
	if *updateViews {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	texttest.Same(t, path+" (after a look: go test ./cmd -run TestViews -update)", b.String(), string(want))
}

// gapsAndTimes are a stream with every state of a day, and one without days.
func gapsAndTimes() []report.Timeline {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	gap := func(id int64, reason collection.Reason, from, to int) report.DatedGap {
		return report.DatedGap{OwnedGap: store.OwnedGap{Connector: "orders", Gap: collection.Gap{ID: id, Reason: reason, State: collection.GapOpen}}, From: day(from), To: day(to)}
	}
	orders := report.Timeline{
		Connector: "orders", Stream: store.StreamState{Stream: collection.Stream{Name: "orders"}}, Lane: store.LaneState{Lane: collection.Incremental}, Now: noon,
		Dated: true, From: day(1).AddDate(0, -6, 4), Walked: day(17), Gaps: []report.DatedGap{gap(1, collection.RateLimited, 9, 12), gap(2, collection.BadPage, 14, 15)},
	}
	for n := range 16 {
		orders.Finished = append(orders.Finished, collection.Span{From: day(n + 1), To: day(n + 2), Records: n % 5})
	}
	issues := report.Timeline{
		Connector: "tickets", Stream: store.StreamState{Stream: collection.Stream{Name: "issues"}, Records: 2000},
		Lane: store.LaneState{Lane: collection.Incremental, Evidence: collection.Evidence{Pages: 40}}, Now: noon, Newest: noon.Add(-15 * time.Minute),
	}
	return []report.Timeline{orders, issues}
}

// manyRuns are runs of every outcome.
func manyRuns() (runs []collection.Run) {
	for i, outcome := range []collection.Outcome{
		collection.Running, collection.Complete, collection.NothingNew, collection.Deferred, collection.Waiting, collection.Blocked, collection.RunInterrupted, collection.Failed, collection.Abandoned,
	} {
		run := collection.Run{
			ID: fmt.Sprintf("01JD8Z000000000%d", i), Connector: "tickets", Outcome: outcome, StartedAt: noon.Add(-time.Duration(i) * 24 * time.Hour),
			Tally: collection.Tally{Records: int64(i * i * 12345), Requests: int64(i * 1234)}, ExitCode: -1,
		}
		if outcome != collection.Running && outcome != collection.Abandoned {
			run.EndedAt, run.ExitCode = run.StartedAt.Add(83*time.Minute), i
		}
		runs = append(runs, run)
	}
	return runs
}

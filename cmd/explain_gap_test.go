package cmd

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"collect/cmd/internal/term"
	"collect/collection"
	"collect/internal/texttest"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

func owedGap(reason collection.Reason) report.GapExplanation {
	return report.GapExplanation{OwnedGap: store.OwnedGap{Connector: "tickets", Gap: collection.Gap{
		ID: 31, Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, Shape: collection.SliceGap, Reason: reason,
		State: collection.GapOpen, OpenedAt: noon.Add(-3 * time.Hour), Run: "01JD8Z6Q00000000",
	}}, Now: noon}
}

func TestExplainGap(t *testing.T) {
	e := owedGap(collection.RetryAfter)
	e.Attempts, e.TriedAt, e.NotBefore, e.Detail = 2, noon.Add(-time.Minute), noon.Add(10*time.Minute), "429"
	texttest.Same(t, "80 columns", renderGap(e, 80, term.Caps{}), `g_31: a piece of the list (SLICE_GAP) is owed: tickets/issues
  why       retry_after: the provider must be left alone for longer than the run
            may wait: it asked for that, or a quota is used up
  said      429
  since     09:00 UTC, run 01JD8Z6Q00000000
  tried     2 times, 6 more before it is left to you; last 60 s ago
  acts      a later run, by itself
  next      a run after 12:10 UTC tries it again; before that none does:
            collect resume tickets
`)
}

// What is left to a person already is not about to be.
func TestExplainStuckGap(t *testing.T) {
	e := owedGap(collection.BadPage)
	e.Attempts = 2
	if got, want := renderGap(e, 80, term.Caps{}), "tried     2 times\n"; !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
}

// Every gap says who acts, and gives a command, unless nothing is to be done.
func TestExplainEveryGap(t *testing.T) {
	for _, reason := range collection.Reasons() {
		for _, state := range []collection.GapState{collection.GapOpen, collection.GapLeased, collection.GapDead} {
			e := owedGap(reason)
			if e.State = state; state == collection.GapDead {
				e.Attempts = collection.MaxGapAttempts
			}
			next, commands := e.Next()
			if next == "" || e.Who() == "" || len(commands) == 0 && reason != collection.Gone {
				t.Errorf("%s, %s: %q by %q: %q", reason, state, next, e.Who(), commands)
			}
			if acts := e.Who() == "you"; acts != (report.GapLines([]store.OwnedGap{e.OwnedGap})[0].Needs == problem.NeedsOperator) {
				t.Errorf("%s, %s: %q acts, unlike in collect gaps", reason, state, e.Who())
			}
		}
	}
	hostile := owedGap(collection.BadPage)
	hostile.Detail, hostile.Stream = "boo\x1b[2J\x07\u202e", "boo\x1b[2J"
	raw, err := json.Marshal(hostile.Line())
	if err != nil {
		t.Fatal(err)
	}
	if got := renderGap(hostile, 80, term.Caps{UTF8: true}); strings.ContainsAny(got, "\x1b\x07\u202e") || strings.ContainsAny(string(raw), "\x1b\x07") {
		t.Errorf("not clean: %q\n%q", got, raw)
	}
}

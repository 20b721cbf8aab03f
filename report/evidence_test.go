package report_test

import (
	"strings"
	"testing"

	"collect/collection"
	"collect/report"
	"collect/store"
)

// TestWhyAWalkMarkedNothing: the evidence of a walk that was to sweep says what kept it
// from marking anything as deleted.
func TestWhyAWalkMarkedNothing(t *testing.T) {
	sweeps := collection.Evidence{Pass: 7, Pages: 3, Records: 30, Sweeps: true, End: collection.EndMark}
	words := func(e collection.Evidence) string {
		return report.EvidenceWords(store.StreamState{Stream: collection.Stream{Name: "tickets"}}, store.LaneState{Complete: true, Evidence: e})
	}
	lacks := sweeps
	lacks.Lacks = 1
	if got, want := words(lacks), "; 1 record that is stored did not come: what the next walk lacks as well is marked as deleted"; !strings.Contains(got, want) {
		t.Errorf("a first walk without a record says %q, want %q", got, want)
	}
	lacks.Had, lacks.Pages, lacks.Records = 190, 1, 100
	if got, want := words(lacks), "; nothing was marked as deleted, since exactly 100 records came, and an earlier walk had 190: if that is the most that the provider gives of a list, ask for smaller lists; if the list has no more, say so with `expect: {drop: off}`; 1 record that is stored did not come"; !strings.HasSuffix(got, want) {
		t.Errorf("a walk that may not have all says %q, want %q at its end", got, want)
	}
	details := store.StreamState{Stream: collection.Stream{Name: "notes", Parent: "tickets"}}
	for unsure, want := range map[bool]string{false: "", true: "notes, newest pass: complete as far as this can tell: no total"} {
		if got := report.EvidenceWords(details, store.LaneState{Complete: true, Evidence: collection.Evidence{Pages: 1, Unsure: unsure}}); got != want {
			t.Errorf("a pass, unsure: %t: %q, want %q", unsure, got, want)
		}
	}
	for collided, want := range map[int64]string{0: "", 1: "notes has 1 record in quarantine that may be newer than the one which is stored under its key", 2: "notes has 2 records in quarantine that may be newer than those which are stored under their keys"} {
		details.Collided = collided
		if got := report.Doubts([]store.StreamState{details}, collection.Incremental); got != want {
			t.Errorf("with %d of two parents' records in quarantine: %q, want %q", collided, got, want)
		}
	}
	for _, test := range []struct {
		name   string
		change func(*collection.Evidence)
		want   string
	}{
		{"it was sound", func(*collection.Evidence) {}, ""},
		{"it was not to sweep", func(e *collection.Evidence) { e.Sweeps, e.Holes = false, 1 }, ""},
		{"a page is owed", func(e *collection.Evidence) { e.Holes = 1 }, "1 page was left out"},
		{"quarantine", func(e *collection.Evidence) { e.Hidden = 2 }, "2 records went into quarantine without a key, and may be stored already"},
		{"an open end", func(e *collection.Evidence) { e.Open = true }, "an answer did not say where it ends"},
		{"numbered, and none came twice", func(e *collection.Evidence) { e.Counted = true }, ""},
		{"numbered, and some came twice", func(e *collection.Evidence) { e.Counted, e.Again = true, 4 }, "4 records came twice, so that others may have moved to a page that was read before"},
		{"the order changes", func(e *collection.Evidence) { e.Again, e.Strayed = 4, 1 }, "1 record came on two pages: the order of the list changes, or it has them twice"},
		{"by cursor, and some came twice", func(e *collection.Evidence) { e.Again = 4 }, ""},
	} {
		e := sweeps
		test.change(&e)
		got := words(e)
		_, why, _ := strings.Cut(got, "; nothing was marked as deleted, since ")
		if why != test.want {
			t.Errorf("%s: %q says %q, want %q", test.name, got, why, test.want)
		}
	}
}

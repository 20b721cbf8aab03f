package cmd

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/report"
	"collect/store"
)

// walked is a list of 1,500 tickets that was walked to its end, with the
// details of 300 of them.
func walked() report.Explanation {
	e := paced()
	e.Runs[0].Lane = collection.Incremental
	e.Streams = []store.StreamState{
		{Stream: collection.Stream{Name: "tickets", Role: collection.List}, Records: 1500, Lanes: []store.LaneState{{Lane: collection.Incremental, Complete: true}}},
		{Stream: collection.Stream{Name: "details", Role: collection.Detail, Parent: "tickets"}, Lanes: []store.LaneState{
			{Lane: collection.Incremental, Partitions: 400, Done: 300}, {Lane: collection.Backfill, Done: 1499},
		}},
	}
	return e
}

// What is left is said where it is known, and nothing elsewhere.
func TestExplainWhatIsLeft(t *testing.T) {
	tests := []struct {
		name   string
		change func(*report.Explanation)
		want   string // "": not known
	}{
		{"at what was learned", func(*report.Explanation) {}, "at this pace in about 6 min, for at most 1,200 requests"},
		{"a list has more pages", func(e *report.Explanation) { e.Streams[1].Role = collection.List }, "at this pace in about 6 min, for at most 1,200 parents and a request or more each"},
		{"some parents are deleted", func(e *report.Explanation) { e.Streams[0].Deleted = 600 }, "at this pace in about 3 min, for at most 600 requests"},
		{"a ceiling of a day is in the way", func(e *report.Explanation) { e.Pace.Constraints[1].Used = 19_999 }, "at this pace in about 86 min, for at most 1,200 requests"},
		{"another lane", func(e *report.Explanation) {
			e.Runs[0].Lane = collection.Backfill
			e.Streams[0].Lanes[0].Lane = collection.Backfill
		},
			"at this pace in about 10 s, for at most 1 request"},
		{"the list is not at its end", func(e *report.Explanation) { e.Streams[0].Lanes[0].Complete = false }, ""},
		{"nor is what it leads to", func(e *report.Explanation) {
			e.Streams = append(e.Streams, store.StreamState{Stream: collection.Stream{Name: "comments", Role: collection.Detail, Parent: "details"}})
		}, ""},
		{"all is done", func(e *report.Explanation) { e.Streams[1].Lanes[0].Complete = true }, ""},
		{"nothing leaves", func(e *report.Explanation) {
			e.Pace.Constraints = append(e.Pace.Constraints, gate.Constraint{Name: gate.FreezeOf, Blocks: true, Binds: true})
		}, ""},
		{"nothing is paced", func(e *report.Explanation) { e.Pace.Constraints = nil }, ""},
		{"nothing is known", func(e *report.Explanation) { e.Known = false }, ""},
		{"no run", func(e *report.Explanation) { e.Runs = nil }, ""},
	}
	for _, test := range tests {
		e := walked()
		test.change(&e)
		got := ""
		if left := e.Left(); left != nil {
			got = left.Words()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	slow := walked()
	slow.Pace.Constraints = []gate.Constraint{{Name: gate.Learned, PerSecond: 1e-300}}
	if left := slow.Left(); left == nil || left.In < 24*time.Hour {
		t.Errorf("at hardly any pace: %+v", left)
	}
}

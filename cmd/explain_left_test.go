package cmd

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/store"
)

// walked is a list of 1,500 tickets that was walked to its end, with the
// details of 300 of them.
func walked() explained {
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
		change func(*explained)
		want   string // "": not known
	}{
		{"at what was learned", func(*explained) {}, "at this pace in about 6 min, for 1,200 requests"},
		{"a list has more pages", func(e *explained) { e.Streams[1].Role = collection.List }, "at this pace in about 6 min, for 1,200 requests at least"},
		{"a ceiling of a day is in the way", func(e *explained) { e.Pace.Constraints[1].Used = 19_999 }, "at this pace in about 86 min, for 1,200 requests"},
		{"another lane", func(e *explained) {
			e.Runs[0].Lane = collection.Backfill
			e.Streams[0].Lanes[0].Lane = collection.Backfill
		},
			"at this pace in about 10 s, for 1 request"},
		{"the list is not at its end", func(e *explained) { e.Streams[0].Lanes[0].Complete = false }, ""},
		{"nor is what it leads to", func(e *explained) {
			e.Streams = append(e.Streams, store.StreamState{Stream: collection.Stream{Name: "comments", Role: collection.Detail, Parent: "details"}})
		}, ""},
		{"all is done", func(e *explained) { e.Streams[1].Lanes[0].Complete = true }, ""},
		{"nothing leaves", func(e *explained) {
			e.Pace.Constraints = append(e.Pace.Constraints, gate.Constraint{Name: gate.FreezeOf, Blocks: true, Binds: true})
		}, ""},
		{"nothing is paced", func(e *explained) { e.Pace.Constraints = nil }, ""},
		{"nothing is known", func(e *explained) { e.Known = false }, ""},
		{"no run", func(e *explained) { e.Runs = nil }, ""},
	}
	for _, test := range tests {
		e := walked()
		test.change(&e)
		got := ""
		if left := e.left(); left != nil {
			got = left.words()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	slow := walked()
	slow.Pace.Constraints = []gate.Constraint{{Name: gate.Learned, PerSecond: 1e-300}}
	if left := slow.left(); left == nil || left.In < 24*time.Hour {
		t.Errorf("at hardly any pace: %+v", left)
	}
}

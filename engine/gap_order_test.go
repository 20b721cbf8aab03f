package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// leftOver returns a gap of tickets that no run tries by itself.
func leftOver(id int64, reason collection.Reason) store.OwnedGap {
	gap := gaps(reason)[0]
	gap.ID, gap.State, gap.Stream = id, collection.GapDead, "issues"
	return gap
}

func TestChooseGapsToRetry(t *testing.T) {
	open := leftOver(4, collection.RequestCap)
	open.State = collection.GapOpen
	stuck := leftOver(10, collection.SchemaDrift)
	stuck.State = collection.GapOpen
	theirs := leftOver(5, collection.Forbidden)
	theirs.Connector = "other"
	notes := leftOver(6, collection.NotFound)
	notes.Stream = "notes"
	owed := []store.OwnedGap{leftOver(1, collection.UpstreamPressure), leftOver(2, collection.Forbidden), leftOver(3, collection.Gone), open, theirs, notes}
	now := time.Now()
	waiting := []store.OwnedGap{leftOver(7, collection.UpstreamPressure), leftOver(8, collection.RetryAfter)}
	for i := range waiting {
		waiting[i].State, waiting[i].NotBefore = collection.GapOpen, now.Add(time.Minute)
	}
	for _, test := range []struct {
		name   string
		o      GapOrder
		of     []store.OwnedGap
		want   []int64
		idle   string // of what it says if there are none
		refuse string // of the error
	}{
		{name: "all but what is gone, and others'", of: owed, want: []int64{1, 2, 6}},
		{name: "what is gone, too", o: GapOrder{Gone: true}, of: owed, want: []int64{1, 2, 3, 6}},
		{name: "of a stream", o: GapOrder{Stream: "notes"}, of: owed, want: []int64{6}},
		{name: "by name", o: GapOrder{Gaps: []int64{2, 3, 2}}, of: owed, want: []int64{2, 3}},
		{name: "by name, one of them lives", o: GapOrder{Gaps: []int64{4, 1}}, of: owed, want: []int64{1}},
		{name: "by name, it lives", o: GapOrder{Gaps: []int64{4}}, of: owed, idle: "g_4 needs no order"},
		{name: "by name, it is yours and lives", o: GapOrder{Gaps: []int64{10}}, of: []store.OwnedGap{stuck}, idle: "what to do: `collect explain g_10 --state s`"},
		{name: "all, one is yours and lives", of: []store.OwnedGap{stuck}, idle: "runs try g_10 by themselves, which helps once its cause is settled"},
		{name: "by name, it is not there", o: GapOrder{Gaps: []int64{1, 9}}, of: owed, refuse: "no gap g_9 is owed"},
		{name: "by name, it is another's", o: GapOrder{Gaps: []int64{5}}, of: owed, refuse: "for it: collect gaps retry other g_5 --state s --reason WHY"},
		{name: "nothing is dead", of: owed[3:5], idle: "no gap of tickets needs an order"},
		{name: "nothing is owed", of: owed[4:5], idle: "nothing is owed for tickets"},
		{name: "nothing of the stream", o: GapOrder{Stream: "none"}, of: owed, idle: "nothing is owed for tickets/none"},
		{name: "what cools, and not what the provider asked to wait for", of: waiting, want: []int64{7}},
		{name: "by name, as the provider asked", o: GapOrder{Gaps: []int64{8}}, of: waiting, idle: "nothing is sent before"},
		{name: "only what is gone", of: owed[2:3], idle: "gone for good, which --gone retries"},
	} {
		test.o.Connector, test.o.Flags, test.o.Now = "tickets", " --state s", now
		dead, idle, err := test.o.Choose(test.of)
		var got []int64
		for _, gap := range dead {
			got = append(got, gap.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if len(dead) == 0 && err == nil && (test.idle == "" || !strings.Contains(idle, test.idle)) {
			t.Errorf("%s: it says %q, want %q", test.name, idle, test.idle)
		}
		if (err != nil) != (test.refuse != "") || err != nil && !strings.Contains(err.Error(), test.refuse) {
			t.Errorf("%s: error = %v, want %q", test.name, err, test.refuse)
		}
	}
}

func TestChooseGapsToWaive(t *testing.T) {
	open := leftOver(4, collection.RateLimited)
	open.State, open.Partition = collection.GapOpen, `{"id":"4"}`
	stands := leftOver(5, collection.BadPage)
	waived := leftOver(6, collection.Forbidden)
	waived.Waiver.At = time.Unix(1, 0)
	behind := leftOver(7, collection.TooLarge)
	behind.Behind = true
	piece := leftOver(1, collection.Forbidden)
	piece.Partition = `{"id":"1"}`
	waived.Partition = `{"id":"6"}`
	gone := leftOver(3, collection.Gone)
	gone.Partition = `{"id":"3"}`
	owed := []store.OwnedGap{piece, gone, open, stands, waived, behind}
	for _, test := range []struct {
		name   string
		o      GapOrder
		want   []int64
		idle   string
		refuse string
	}{
		{name: "of a stream, what is left to a person", o: GapOrder{Stream: "issues"}, want: []int64{1, 7}},
		{name: "by name, whatever runs would do", o: GapOrder{Gaps: []int64{4, 1}}, want: []int64{4, 1}},
		{name: "by name, it was waived", o: GapOrder{Gaps: []int64{6}}, idle: "g_6 is not owed any more"},
		{name: "by name, they are gone or waived", o: GapOrder{Gaps: []int64{6, 3}}, idle: "these gaps are not owed any more"},
		{name: "where the walk of a list stands", o: GapOrder{Gaps: []int64{1, 5}}, refuse: "the walk of tickets/issues stands at g_5"},
		{name: "it is not there", o: GapOrder{Gaps: []int64{9}}, refuse: "collect gaps waive: no gap g_9 is owed"},
		{name: "nothing of the stream", o: GapOrder{Stream: "none"}, idle: "nothing is owed for tickets/none"},
	} {
		test.o.Connector, test.o.Waive = "tickets", true
		chosen, idle, err := test.o.Choose(owed)
		var got []int64
		for _, gap := range chosen {
			got = append(got, gap.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if !strings.Contains(idle, test.idle) || (err != nil) != (test.refuse != "") || err != nil && !strings.Contains(err.Error(), test.refuse) {
			t.Errorf("%s: %q, %v, want %q, %q", test.name, idle, err, test.idle, test.refuse)
		}
	}
	// And what was waived is tried again only if that is said.
	for _, test := range []struct {
		o    GapOrder
		want int
	}{{GapOrder{}, 3}, {GapOrder{Waived: true}, 4}, {GapOrder{Gaps: []int64{6}}, 1}, {GapOrder{Gone: true}, 4}} {
		test.o.Connector = "tickets"
		if got, _, err := test.o.Choose(owed); err != nil || len(got) != test.want {
			t.Errorf("%+v: %d, %v, want %d", test.o, len(got), err, test.want)
		}
	}
}

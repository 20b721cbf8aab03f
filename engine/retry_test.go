package engine

import (
	"slices"
	"strings"
	"testing"

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
	open := leftOver(4, collection.BadPage)
	open.State = collection.GapOpen
	theirs := leftOver(5, collection.Forbidden)
	theirs.Connector = "other"
	notes := leftOver(6, collection.NotFound)
	notes.Stream = "notes"
	owed := []store.OwnedGap{leftOver(1, collection.UpstreamPressure), leftOver(2, collection.Forbidden), leftOver(3, collection.Gone), open, theirs, notes}
	for _, test := range []struct {
		name   string
		o      Retry
		of     []store.OwnedGap
		want   []int64
		idle   string // of what it says if there are none
		refuse string // of the error
	}{
		{name: "all but what is gone, and others'", of: owed, want: []int64{1, 2, 6}},
		{name: "what is gone, too", o: Retry{Gone: true}, of: owed, want: []int64{1, 2, 3, 6}},
		{name: "of a stream", o: Retry{Stream: "notes"}, of: owed, want: []int64{6}},
		{name: "by name", o: Retry{Gaps: []int64{2, 3, 2}}, of: owed, want: []int64{2, 3}},
		{name: "by name, one of them lives", o: Retry{Gaps: []int64{4, 1}}, of: owed, want: []int64{1}},
		{name: "by name, it lives", o: Retry{Gaps: []int64{4}}, of: owed, idle: "g_4 needs no order"},
		{name: "by name, it is not there", o: Retry{Gaps: []int64{1, 9}}, of: owed, refuse: "no gap g_9 is owed"},
		{name: "by name, it is another's", o: Retry{Gaps: []int64{5}}, of: owed, refuse: "for it: collect gaps retry other g_5 --state s --reason WHY"},
		{name: "nothing is dead", of: owed[3:5], idle: "no gap of tickets needs an order"},
		{name: "nothing is owed", of: owed[4:5], idle: "nothing is owed for tickets"},
		{name: "nothing of the stream", o: Retry{Stream: "none"}, of: owed, idle: "nothing is owed for tickets/none"},
		{name: "only what is gone", of: owed[2:3], idle: "gone for good, which --gone retries"},
	} {
		test.o.Connector, test.o.Flags = "tickets", " --state s"
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

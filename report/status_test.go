package report_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/report"
	"collect/store"
)

// TestAPassWithoutParents is not complete before the walk of its parents is: it asked
// for nothing.
func TestAPassWithoutParents(t *testing.T) {
	now := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	stands := func(complete bool, partitions int64) []store.LaneState {
		return []store.LaneState{{Lane: collection.Incremental, Complete: complete, Partitions: partitions, Done: partitions, SavedAt: now, Began: now}}
	}
	stream := func(name, parent string, lanes []store.LaneState) store.StreamState {
		return store.StreamState{Stream: collection.Stream{Name: name, Parent: parent}, Lanes: lanes}
	}
	for _, tc := range []struct {
		name      string
		parents   []store.LaneState
		pass      []store.LaneState
		complete  int
		says      string
		partition string
	}{
		{"no parent was stored", nil, stands(true, 0), 0, "not begun", ""},
		{"the walk is under way", stands(false, 0), stands(true, 0), 0, "not begun", ""},
		{"there is no parent", stands(true, 0), stands(true, 0), 3, "complete", "0 of 0"},
		{"some are known", stands(false, 0), stands(true, 2), 2, "complete", "2 of 2"},
	} {
		s := report.StatusFrom(store.ConnectorState{Connector: "s", Streams: []store.StreamState{
			stream("things", "", tc.parents), stream("details", "things", tc.pass), stream("notes", "details", stands(true, 0)),
		}}, now)
		if got := s.Complete(); got != tc.complete {
			t.Errorf("%s: %d streams are complete, want %d", tc.name, got, tc.complete)
		}
		of := s.Streams[1]
		if got := s.LaneWords(of, of.Lanes[0], now); got != tc.says {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.says)
		}
		if got := report.PartitionWords(of, of.Lanes[0]); got != tc.partition {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.partition)
		}
	}
}

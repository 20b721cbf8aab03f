package report_test

import (
	"testing"
	"time"

	"collect/collection"
	"collect/report"
	"collect/store"
)

// What is planned is committed, owed, given up, gone or ahead; and what is not
// known is not 0.
func TestCoverage(t *testing.T) {
	gap := func(stream, partition string, reason collection.Reason, waived bool) store.OwnedGap {
		g := collection.Gap{Reason: reason}
		g.Stream, g.Partition, g.Lane = stream, collection.Partition(partition), collection.Incremental
		if waived {
			g.Waiver.At = time.Unix(1, 0)
		}
		return store.OwnedGap{Gap: g}
	}
	gaps := []store.OwnedGap{
		gap("details", "a", collection.Forbidden, false), gap("details", "a", collection.BadPage, false), gap("details", "b", collection.Forbidden, true),
		gap("details", "c", collection.Gone, false), gap("joined", "", collection.RequestCap, false), gap("list", "", collection.BadPage, false),
	}
	details := store.StreamState{Stream: collection.Stream{Name: "details", Parent: "parents"}}
	parents := func(complete bool) store.StreamState {
		return store.StreamState{Stream: collection.Stream{Name: "parents"}, Records: 21, Deleted: 1, Lanes: []store.LaneState{{Lane: collection.Incremental, Complete: complete}}}
	}
	each, changing, joined := details, details, details
	each.Name, each.Refresh, changing.Name, changing.Refresh, joined.Name = "each", collection.EachRun, "changing", collection.WhenChanged, "joined"
	since := parents(true)
	since.Lanes[0].Began = time.Unix(2, 0)
	begun := parents(false)
	begun.Lanes[0].SavedAt = time.Unix(2, 0)
	list, other := store.StreamState{Stream: collection.Stream{Name: "list"}}, store.StreamState{Stream: collection.Stream{Name: "other"}}
	told := collection.Evidence{Pages: 4, Records: 40, By: "total", First: 100, Total: 100}
	inPages := told
	inPages.InPages, inPages.Total = true, 10
	fewer := told
	fewer.Total = 30
	rejected := told
	rejected.Rejected = 1
	mark := told
	mark.Partial = true
	for _, test := range []struct {
		name   string
		stream store.StreamState
		of     store.StreamState // the parent
		lane   store.LaneState
		want   string
	}{
		{"partitions, all parents known", details, parents(true), store.LaneState{Done: 5}, "5 of at most 20 partitions committed, 1 owed, 1 waived, 1 gone, 12 ahead"},
		{"partitions, parents still come", details, parents(false), store.LaneState{Done: 5}, "5 partitions committed, 1 owed, 1 waived, 1 gone; how much is ahead is not known"},
		{"partitions, more than parents", details, parents(true), store.LaneState{Done: 18}, "18 partitions committed, 1 owed, 1 waived, 1 gone; how much is ahead is not known"},
		{"partitions, the pass is over", details, parents(true), store.LaneState{Done: 5, Complete: true}, "5 of 8 partitions committed, 1 owed, 1 waived, 1 gone, 0 ahead"},
		{"partitions, the pass is over, and other parents come", details, begun, store.LaneState{Done: 5, Complete: true}, "5 partitions committed, 1 owed, 1 waived, 1 gone; how much is ahead is not known"},
		{"partitions, the pass is over, and a run ended before it looked at them", joined, parents(true), store.LaneState{Done: 5, Complete: true}, "5 of at most 20 partitions committed, 15 ahead"},
		{"lists, the first pass", each, since, store.LaneState{Done: 5}, "5 of at most 20 partitions committed, 15 ahead"},
		{"lists, a later pass, in which they are walked again", each, since, store.LaneState{Done: 5, Again: true}, "5 partitions committed; how much is ahead is not known"},
		{"details of what changes, the first pass", changing, since, store.LaneState{Done: 5, Began: time.Unix(3, 0)}, "5 of at most 20 partitions committed, 15 ahead"},
		{"details of what changes, and it was walked again", changing, since, store.LaneState{Done: 5, Began: time.Unix(1, 0)}, "5 partitions committed; how much is ahead is not known"},
		{"details of what changes, a later pass", changing, since, store.LaneState{Done: 5, Again: true, Began: time.Unix(3, 0)}, "5 partitions committed; how much is ahead is not known"},
		{"details that are fetched once, a later pass", joined, since, store.LaneState{Done: 5, Again: true, Began: time.Unix(3, 0)}, "5 of at most 20 partitions committed, 15 ahead"},
		{"a list of records", other, parents(true), store.LaneState{Evidence: told}, "40 of 100 records committed, 60 ahead"},
		{"a list of records, and a page is owed", list, parents(true), store.LaneState{Evidence: told}, "40 of 100 records committed, 1 pages owed; how much is ahead is not known"},
		{"a list of records, and one is in quarantine", other, parents(true), store.LaneState{Evidence: rejected}, "39 of 100 records committed, 1 in quarantine, 60 ahead"},
		{"and its end is reached", other, parents(true), store.LaneState{Complete: true, Evidence: rejected}, "39 of 40 records committed, 1 in quarantine, 0 ahead"},
		{"a list of pages", list, parents(true), store.LaneState{Evidence: inPages}, "4 of 10 pages committed, 1 owed, 5 ahead"},
		{"a list without a total", other, parents(true), store.LaneState{Evidence: collection.Evidence{Pages: 4}}, "4 pages committed; how much is ahead is not known"},
		{"a list without a total, at its end", other, parents(true), store.LaneState{Complete: true, Evidence: collection.Evidence{Pages: 4}}, "4 of 4 pages committed, 0 ahead"},
		{"a total that was passed", other, parents(true), store.LaneState{Evidence: fewer}, "40 records committed; how much is ahead is not known"},
		{"a total from a mark", other, parents(true), store.LaneState{Evidence: mark}, "4 pages committed; how much is ahead is not known"},
		{"a list of which nothing was counted, at its end", other, parents(true), store.LaneState{Complete: true}, ""},
		{"nothing yet", other, parents(true), store.LaneState{}, ""},
	} {
		test.lane.Lane = collection.Incremental
		s := report.Status{Streams: []store.StreamState{test.of, test.stream}, Owed: gaps}
		c := s.CoverageOf(test.stream, test.lane)
		if got := c.Words(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if c != nil && c.Ahead != nil && *c.Planned != c.Committed+c.Rejected+c.Owed+c.Waived+c.Gone+*c.Ahead {
			t.Errorf("%s: %+v does not add up", test.name, c)
		}
	}
}

// TestCoverageOfGrandchildren: while the walk of the grandparents is under way, the number of
// grandchildren is not known.
func TestCoverageOfGrandchildren(t *testing.T) {
	at := func(name, parent string, records int64, complete bool, done int64) store.StreamState {
		return store.StreamState{Stream: collection.Stream{Name: name, Parent: parent}, Records: records,
			Lanes: []store.LaneState{{Lane: collection.Incremental, Complete: complete, SavedAt: time.Unix(2, 0), Done: done}}}
	}
	for _, test := range []struct {
		name        string
		complete    bool // the walk of the grandparents
		grandchilds string
	}{
		{"all are had", true, "20 of 20 partitions committed, 0 ahead"},
		{"grandparents come", false, "20 partitions committed; how much is ahead is not known"},
	} {
		things, mid, deep := at("things", "", 30, test.complete, 0), at("mid", "things", 20, true, 20), at("deep", "mid", 20, true, 20)
		s := report.Status{Streams: []store.StreamState{things, mid, deep}}
		if got := s.CoverageOf(deep, deep.Lanes[0]).Words(); got != test.grandchilds {
			t.Errorf("%s: %q, want %q", test.name, got, test.grandchilds)
		}
	}
}

package report

import (
	"slices"

	"collect/collection"
	"collect/internal/words"
	"collect/store"
)

// A Coverage says how much of a lane of a stream is stored, in the unit in which
// the stream can be counted:
//
//	planned = committed + quarantined + owed + waived + gone + ahead
//
// What is not known is null, and never 0. Of a list it is about the newest walk.
type Coverage struct {
	Unit      string `json:"unit"`        // partitions, pages or records
	Planned   *int64 `json:"planned"`     // null: not known
	AtMost    bool   `json:"at_most"`     // planned and ahead count each parent, though not each partition may be wanted
	Committed int64  `json:"committed"`   // partitions that were walked to their end; pages or records that are stored
	Rejected  int64  `json:"quarantined"` // of a list that is counted in records
	Owed      int64  `json:"owed"`        // as gaps; of a list that is counted in records, in pages
	Waived    int64  `json:"waived"`
	Gone      int64  `json:"gone"`
	Ahead     *int64 `json:"ahead"` // of the checkpoint; null: not known
}

// CoverageOf returns how much of a lane of a stream is stored; nil if nothing of it
// was counted yet.
func (s Status) CoverageOf(stream store.StreamState, lane store.LaneState) *Coverage {
	c := s.settledAndOwed(stream, lane.Lane)
	over := s.over(stream, lane)
	if stream.Parent != "" {
		c.Unit, c.Committed = "partitions", lane.Done
		if parents := s.parentsOf(stream.Stream, lane); parents != nil && !over {
			c.plan(parents.Living())
			c.AtMost = c.Planned != nil
		}
	} else {
		e := lane.Evidence
		c.Unit, c.Committed = "pages", max(0, e.Walked().Pages-e.Holes)
		switch whole := e.Pages > 0 && e.By != "" && !e.Partial && !e.Window; {
		case whole && e.InPages:
			c.plan(e.Total)
		case whole && c.Owed+c.Waived+c.Gone > 0:
			c.Unit, c.Committed, c.Rejected, c.Planned = "records", e.Distinct()-e.Rejected, e.Rejected, &e.Total // how many records a page that is owed has is not known
			return &c
		case whole:
			c.Unit, c.Committed, c.Rejected = "records", e.Distinct()-e.Rejected, e.Rejected
			c.plan(e.Total)
		}
	}
	if over {
		c.Planned, c.Ahead = nil, nil // what was told meanwhile may have changed
		c.plan(c.accounted())
	}
	if c.accounted() == 0 && (c.Ahead == nil || *c.Ahead == 0) {
		return nil // a lane that was not begun, or whose pages were not counted
	}
	return &c
}

// over reports whether the newest walk or pass of a lane is at its end. That of a pass is not where
// its parents are being walked, or a run ended before it looked for partitions that joined.
func (s Status) over(stream store.StreamState, lane store.LaneState) bool {
	parent := s.stream(stream.Parent)
	if !lane.Complete || stream.Parent == "" || parent == nil {
		return lane.Complete
	}
	of := LaneOf(*parent, lane.Lane)
	return (s.over(*parent, of) || of.SavedAt.IsZero()) && !slices.ContainsFunc(s.Owed, func(gap store.OwnedGap) bool {
		return gap.Stream == stream.Name && gap.Lane == lane.Lane && gap.Partition == "" && !gap.Settled()
	})
}

// parentsOf returns the parent stream of a stream, if its records tell how many partitions are ahead: each record has one
// partition at most, which is done or ahead. It returns nil if more parent records may come. It also returns nil if a partition
// that is done may be walked again: this pass is not the first, or a walk of the parent stream began after it.
func (s Status) parentsOf(stream collection.Stream, lane store.LaneState) *store.StreamState {
	parent := s.stream(stream.Parent)
	if parent == nil {
		return nil
	}
	of := LaneOf(*parent, lane.Lane)
	again := false
	switch stream.Refresh {
	case collection.EachRun:
		again = lane.Again || lane.Complete // the next pass walks all of them
	case collection.WhenChanged:
		again = lane.Again || of.Began.After(lane.Began)
	}
	if !s.over(*parent, of) || again && lane.Done > 0 {
		return nil
	}
	return parent
}

// settledAndOwed counts what is left of a lane of a stream. Of one that is made of
// parents, a gap counts that is of a partition: another only marks where the next
// run goes on.
func (s Status) settledAndOwed(stream store.StreamState, lane collection.Lane) (c Coverage) {
	rank := map[collection.Partition]int{} // a partition counts once, by its worst gap
	for _, gap := range s.Owed {
		if gap.Stream != stream.Name || gap.Lane != lane || stream.Parent != "" && gap.Partition == "" {
			continue
		}
		of := 3
		switch {
		case gap.Waived():
			of = 2
		case gap.Settled():
			of = 1
		}
		if stream.Parent == "" {
			c.count(of)
			continue
		}
		rank[gap.Partition] = max(rank[gap.Partition], of)
	}
	for _, of := range rank {
		c.count(of)
	}
	return c
}

func (c *Coverage) count(of int) {
	switch of {
	case 3:
		c.Owed++
	case 2:
		c.Waived++
	default:
		c.Gone++
	}
}

func (c *Coverage) accounted() int64 { return c.Committed + c.Rejected + c.Owed + c.Waived + c.Gone }

// plan says how much there is in all, unless more than that is accounted for: then
// the provider, or the parents, changed since.
func (c *Coverage) plan(n int64) {
	if ahead := n - c.accounted(); ahead >= 0 {
		c.Planned, c.Ahead = &n, &ahead
	}
}

// Words says it, nothing of nil: 404 of 812 partitions committed, 3 owed, 405 ahead.
func (c *Coverage) Words() string {
	if c == nil {
		return ""
	}
	text := words.Count(c.Committed) + " " + c.Unit + " committed"
	if c.Planned != nil {
		most := ""
		if c.AtMost {
			most = "at most "
		}
		text = words.Count(c.Committed) + " of " + most + words.Count(*c.Planned) + " " + c.Unit + " committed"
	}
	owed := " owed"
	if c.Unit == "records" {
		owed = " pages owed"
	}
	for _, part := range []struct {
		n    int64
		what string
	}{{c.Rejected, " in quarantine"}, {c.Owed, owed}, {c.Waived, " waived"}, {c.Gone, " gone"}} {
		if part.n > 0 {
			text += ", " + words.Count(part.n) + part.what
		}
	}
	if c.Ahead == nil {
		return text + "; how much is ahead is not known"
	}
	return text + ", " + words.Count(*c.Ahead) + " ahead"
}

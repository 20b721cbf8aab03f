package engine

import (
	"context"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/report"
	"collect/store"
)

// Timelines returns which days of each stream of a connector are complete. The
// connector file says which streams are walked in windows of time.
func (m Meeting) Timelines(ctx context.Context, db store.Reader, name string, now time.Time) ([]report.Timeline, error) {
	m = m.Reading(db)
	target, spec, err := m.Registry.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	streams, err := db.Streams(ctx, name)
	if err != nil {
		return nil, err
	}
	owed, err := db.Gaps(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []report.Timeline
	for _, stream := range streams {
		lane := report.LaneOf(stream, collection.Incremental)
		if back := report.LaneOf(stream, collection.Backfill); lane.SavedAt.IsZero() && !back.SavedAt.IsZero() {
			lane = back
		}
		if lane.Lane == "" {
			lane.Lane = collection.Incremental // not begun
		}
		t := report.Timeline{Connector: name, Stream: stream, Lane: lane, Now: now}
		t.Newest, _ = spec.MarkTime(stream.Name, lane.Since)
		if axis, dated := spec.TimeAxis(stream.Name, target.Params); dated {
			t.Dated, t.From, t.Until, t.Walked = true, axis.From, axis.Until, t.Newest
			if t.Finished, err = db.Spans(ctx, name, stream.Name); err != nil {
				return nil, err
			}
			t.Gaps = gapsIn(t, spec, owed)
		}
		all = append(all, t)
	}
	return all, nil
}

// gapsIn returns the gaps of the lane of a timeline, each with its window. One that a
// walk has before its first window, or for it, begins at the mark that the walk began
// from.
func gapsIn(t report.Timeline, spec *declarative.Spec, owed []store.OwnedGap) (gaps []report.DatedGap) {
	for _, gap := range owed {
		if gap.Stream != t.Stream.Name || gap.Lane != t.Lane.Lane {
			continue
		}
		from, to, ok := declarative.WindowAt(gap.Cursor)
		if !ok {
			from = t.From
			if mark, marked := spec.MarkTime(t.Stream.Name, gap.Cursor.Since); marked && mark.After(from) {
				from = mark
			}
			to = from.Add(time.Nanosecond)
		}
		gaps = append(gaps, report.DatedGap{OwnedGap: gap, From: from, To: to})
	}
	return gaps
}

package report

import (
	"slices"
	"time"

	"collect/collection"
	"collect/internal/words"
	"collect/store"
)

// A Plan is what the next run would do, as far as it is known without a request.
type Plan struct {
	Streams []PlannedStream `json:"streams"`
	Pace    *float64        `json:"learned_per_second"` // null: not known
	Least   *int64          `json:"requests_at_least"`  // null: nobody knows how long the lists are
	Seconds *float64        `json:"seconds_at_least"`   // null: not known
}

// A PlannedStream is what a run would do about one stream.
type PlannedStream struct {
	Stream  string `json:"stream"`
	Parent  string `json:"parent"`
	Begins  string `json:"begins"` // from where, for people
	Records int64  `json:"records"`
	Gaps    int    `json:"gaps"`  // that the run would try again
	Later   int    `json:"later"` // that have to wait, or for a person
}

// PlanOf returns the plan of a run of the streams of a connector in a lane, whose
// state is e. Of a connector that never ran, e is the zero Explanation but for Now.
func PlanOf(e Explanation, streams []collection.Stream, lane collection.Lane) Plan {
	var p Plan
	for _, s := range streams {
		planned := PlannedStream{Stream: s.Name, Parent: s.Parent, Begins: "its start"}
		if i := slices.IndexFunc(e.Streams, func(st store.StreamState) bool { return st.Name == s.Name }); i >= 0 {
			st := e.Streams[i]
			planned.Records = st.Records
			planned.Begins = begins(LaneOf(st, lane), s, e.Now)
		}
		for _, gap := range e.Owed {
			switch {
			case gap.Stream != s.Name || gap.Lane != lane:
			case gap.State == collection.GapDead || gap.NotBefore.After(e.Now):
				planned.Later++
			default:
				planned.Gaps++
			}
		}
		p.Streams = append(p.Streams, planned)
	}
	if e.Known && e.Pace.PerSecond > 0 {
		p.Pace = &e.Pace.PerSecond
	}
	if left := e.Left(); left != nil {
		seconds := left.In.Seconds()
		p.Least, p.Seconds = &left.Requests, &seconds
	}
	return p
}

// begins says from where the walk of a stream goes on.
func begins(l store.LaneState, s collection.Stream, now time.Time) string {
	switch {
	case l.SavedAt.IsZero():
		return "its start"
	case !l.Complete && s.Parent != "":
		return words.Count(l.Done) + " of its parents are done"
	case !l.Complete:
		return "its checkpoint of " + words.At(l.SavedAt, now)
	case s.Refresh == collection.Once:
		return "parents that are new"
	case s.Refresh == collection.WhenChanged:
		return "parents that changed"
	}
	return "a new walk; complete as of " + words.At(l.SavedAt, now)
}

package report

import (
	"cmp"
	"slices"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/store"
)

// A Plan is what the next run would do, as far as it is known without a request.
type Plan struct {
	Streams []PlannedStream `json:"streams"`
	Pace    *float64        `json:"learned_per_second"` // null: not known
	Least   int64           `json:"requests_at_least"`
	Seconds *float64        `json:"seconds_at_least"` // null: not known
	NextAt  jsonout.Time    `json:"next_at"`          // null: a request may leave now, or no time is known
	Held    *string         `json:"held"`             // by whom or what, so that a run sends nothing until a person acts; null: it is not
	End     *string         `json:"held_ends_by"`     // the command for that
}

// A PlannedStream is what a run would do about one stream.
type PlannedStream struct {
	Stream  string `json:"stream"`
	Parent  string `json:"parent"`
	Begins  string `json:"begins"` // from where, for people
	Records int64  `json:"records"`
	Gaps    int    `json:"gaps"`  // that the run would try again
	Later   int    `json:"later"` // that have to wait, or for a person

	Parents *int64          `json:"parents"` // whose lists or details are ahead; null: it has none, or it is not known how many
	Windows *PlannedWindows `json:"windows"` // of time that each list ahead is asked for in; null: it is not cut by time
}

// PlannedWindows are the windows of time in front of a list.
type PlannedWindows struct {
	Count   int64   `json:"count"`
	Seconds float64 `json:"seconds"` // of one
	Cap     int     `json:"cap"`     // records at which one is halved; 0: none is
}

// requests returns how many requests the stream takes at least; known is false
// where not even that is known.
func (s *PlannedStream) requests() (n int64, known bool) {
	n = 1
	if s.Windows != nil {
		n = s.Windows.Count
	}
	switch {
	case s.Parent == "":
	case s.Parents == nil:
		return 0, false
	default:
		n *= *s.Parents
	}
	return n, true
}

// Ahead says what is in front of the stream, for people.
func (s *PlannedStream) Ahead() string {
	of := ""
	if s.Parent != "" {
		if s.Parents == nil {
			return "not known"
		}
		of = words.Counted(*s.Parents, "parent", "parents")
	}
	if s.Windows == nil {
		return cmp.Or(of, "not known")
	}
	text := words.Counted(s.Windows.Count, "window", "windows") + " of " + words.Span(time.Duration(s.Windows.Seconds*float64(time.Second)))
	if s.Windows.Cap > 0 {
		text += " or less"
	}
	if of != "" {
		text = of + ", " + text + " each"
	}
	return text
}

// PlanOf returns the plan of a run of the streams of a connector in a lane, whose
// state is e. Of a connector that never ran, e is the zero Explanation but for Now.
// wanted has, by stream, how many parents have something that is wanted, if not all have. windows returns those in front of the list of a stream that stands as the lane says;
// nil if there are none.
func PlanOf(e Explanation, streams []collection.Stream, lane collection.Lane, wanted map[string]int64, windows func(stream string, at store.LaneState) *PlannedWindows) Plan {
	var p Plan
	for _, s := range streams {
		planned := PlannedStream{Stream: s.Name, Parent: s.Parent, Begins: "its start"}
		at := store.LaneState{Lane: lane}
		if i := slices.IndexFunc(e.Streams, func(st store.StreamState) bool { return st.Name == s.Name }); i >= 0 {
			st := e.Streams[i]
			at = LaneOf(st, lane)
			planned.Records = st.Records
			planned.Begins = begins(at, s, e.Now)
		}
		planned.Parents = parentsAhead(e, s, at, lane, wanted)
		if s.Parent != "" {
			at = store.LaneState{} // each parent has a mark of its own
		}
		planned.Windows = windows(s.Name, at)
		if n, known := planned.requests(); known {
			p.Least += n
		}
		for _, gap := range e.Owed {
			switch {
			case gap.Stream != s.Name: // of either lane: a backfill that was begun goes on, too
			case gap.State == collection.GapDead || gap.NotBefore.After(e.Now):
				planned.Later++
			default:
				planned.Gaps++
			}
		}
		p.Streams = append(p.Streams, planned)
	}
	p.NextAt = jsonout.Time(e.Stands(e.Now).Until)
	why, end := e.Order(e.Now)
	p.Held, p.End = jsonout.Text(why), jsonout.Text(end)
	if e.Known && e.Pace.Learned > 0 {
		p.Pace = &e.Pace.Learned
	}
	if takes := e.takes(p.Least).Seconds(); e.Known && takes > 0 {
		p.Seconds = &takes
	}
	return p
}

// parentsAhead returns how many parents of a stream the run would go to; nil if it has
// none, or that is not known.
func parentsAhead(e Explanation, s collection.Stream, at store.LaneState, lane collection.Lane, wanted map[string]int64) *int64 {
	parent := e.stream(s.Parent)
	if parent == nil || !LaneOf(*parent, lane).Complete || at.Complete && s.Refresh != collection.EachRun || !at.Complete && e.parentsOf(s, at) == nil {
		return nil
	}
	n, some := wanted[s.Name]
	if !some {
		n = max(0, parent.Living())
	}
	if !at.Complete {
		n = max(0, n-at.Done)
	}
	return &n
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

package report

import (
	"slices"
	"strings"
	"time"

	"collect/internal/words"
	"collect/report/problem"
)

// An Overview is all connectors in one view.
type Overview struct {
	Now   time.Time
	All   []Stood // what needs a person first
	Needy int     // how many need one
}

// A Stood is a connector with where it stands.
type Stood struct {
	Status
	Standing
}

// OverviewOf orders connectors by who acts, and by name.
func OverviewOf(all []Status, now time.Time) Overview {
	o := Overview{Now: now}
	for _, s := range all {
		st := s.Stands(now)
		if st.Needs == problem.NeedsOperator {
			o.Needy++
		}
		o.All = append(o.All, Stood{s, st})
	}
	slices.SortStableFunc(o.All, func(a, b Stood) int {
		if d := a.Urgency() - b.Urgency(); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return o
}

// silence is after how long without a sign of any run it is said: a timer that runs
// once a day is late then.
const silence = 26 * time.Hour

// SilentFor returns for how long no run has given a sign of life, if that is
// remarkably long; else 0.
func (o Overview) SilentFor() time.Duration {
	newest := time.Time{}
	for _, s := range o.All {
		run := s.Newest()
		if seen := run.SeenAt(); seen.After(newest) {
			newest = seen
		}
	}
	if silent := o.Now.Sub(newest); !newest.IsZero() && silent >= silence {
		return silent
	}
	return 0
}

// NeedyWords counts the connectors: 5 connectors, 2 need you.
func (o Overview) NeedyWords() string {
	text := words.Counted(int64(len(o.All)), "connector", "connectors")
	switch o.Needy {
	case 0:
		return text + ", none needs you"
	case 1:
		return text + ", 1 needs you"
	}
	return text + ", " + words.Count(int64(o.Needy)) + " need you"
}

// glyphs stand beside the word of a state, and never alone.
var glyphs = map[Health]string{
	Frozen: "×", Blocked: "×", Stuck: "×", Waiting: "‖", Behind: "…", Collecting: "▸", Unmeasured: "?", UpToDate: "✓",
}

// Glyph returns the sign of a state, one column wide.
func (h Health) Glyph() string { return glyphs[h] }

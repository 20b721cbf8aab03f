package since

import (
	"cmp"
	"time"

	"collect/connectors/declarative/internal/paging"
)

// A Window is what the pages from one anchor are asked with.
type Window struct {
	Since  string // the mark to begin the next walk with, so far
	Anchor string // the mark that pages of this walk moved to; "" before the first did
	high   string // the highest mark of an unordered walk; in an ordered one, not empty once it gave up order
	bound  bound
	tie    tie
	all    bool // the walk asked for everything at its start
	Shorts paging.Shorts
	promise
	Floor string // the mark up to which the walks before have everything, of a list with the newest first
	Loose bool   // such a list turned out not to be sorted
	had   string // the tie that the walk before ended with
	top   string // the highest of the second highest marks of the pages so far: one record that claims to be of next year is none
	Left  string // the tie that ends with the page
	Asked string // the mark that is sent; "" asks for everything
	Over  Over
}

// Over is when an ordered walk with numbers of pages may end though a page may follow:
// once all up to its beginning was read. Where records change faster than pages are
// asked for, it would follow them for ever. The zero value ends no walk.
type Over struct {
	From time.Time // when the walk had surely begun, by the clock of the provider
	To   time.Time // what is later is no time of a change
}

// has reports whether a walk that goes on at anchor has all that was there when it
// began.
func (o Over) has(s *Since, anchor string) bool {
	at, known := s.moment(anchor)
	return known && at.After(o.From) && !at.After(o.To)
}

func (w Window) cursorHigh() string {
	return Footing{w.Anchor, w.high, w.bound, w.tie, w.Shorts, w.promise, w.all, w.Loose, w.had, w.top}.Text()
}

// done returns the High of a cursor at the end of a walk that leaves the mark since.
func (s *Since) done(w Window, since string) string {
	f := Footing{Had: cmp.Or(w.Left, w.had), Shorts: w.Shorts.Kept()}
	top := w.top
	if _, known := s.moment(top); later(top, since) && (!known || w.bound.By.IsZero()) {
		f.Top = top
	}
	return f.Text()
}

// knows reports whether the walks before had all that a page with the marks m has, and
// with it all that is behind it: the page is sorted, each of its records has a mark, and none
// is later than the floor. What has the very mark of a start may go on behind the page.
func (w Window) knows(m Marks) bool {
	if w.Floor == "" || w.Loose || !m.marked {
		return false
	}
	return later(w.Floor, m.high) || w.Since != "" && CompareMarks(w.Floor, m.high) == 0
}

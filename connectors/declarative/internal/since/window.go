package since

import (
	"cmp"

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
	had   string // the tie that the walk before ended with
	Left  string // the tie that ends with the page
	Asked string // the mark that is sent; "" asks for everything
}

func (w Window) cursorHigh() string {
	return Footing{w.Anchor, w.high, w.bound, w.tie, w.Shorts, w.promise, w.all, w.had}.Text()
}

// done returns the High of a cursor at the end of the walk.
func (w Window) done() string {
	return Footing{Had: cmp.Or(w.Left, w.had), Shorts: paging.Shorts{Short: w.Shorts.Short}}.Text()
}

package runner

import (
	"fmt"
	"hash/maphash"

	"collect/collection"
)

// repeats notices a walk that gets the same records again and again under new
// cursors, as from a server that ignores the page it is asked for, or that
// leads in circles.
//
// Where the connector counts, the first such page is one too many: it stands in
// the place of another, which the next number would pass by. Elsewhere each page
// says itself which one follows it.
type repeats struct {
	limit int
	most  int // pages of a walk; 0: any number
	pages int // that were seen
	seed  maphash.Seed
	seen  map[uint64]struct{} // pages, by the keys of their records; at most mostSeen
	times int                 // pages in a row that were seen before
	fresh int                 // pages that were not

	anchor string // what the walk was last anchored by
}

// mostSeen bounds the memory for pages, at about 2 MiB. A circle of more pages
// is not noticed: a budget ends it.
const mostSeen = 1 << 16

// full returns a stop when a walk has had as many pages as it may have.
func (g *repeats) full() *collection.Stop {
	if g.pages++; g.most == 0 || g.pages < g.most {
		return nil
	}
	return &collection.Stop{
		Reason: collection.BadPage, Err: collection.ErrNoProgress,
		Detail: fmt.Sprintf("the walk is not at its end after %d pages, the most that `pages` under `limits` allows in one run", g.pages),
	}
}

// see returns a stop when slice is one page too many without a new record, and else
// notes in it that the walk had its page before. Where
// a walk is anchored anew, it may meet the pages before it once more: what was
// seen was seen from another anchor.
func (g *repeats) see(slice *collection.Slice, counted bool) *collection.Stop {
	if len(slice.Records) == 0 {
		return nil // empty pages are the connector's to judge
	}
	if g.seen == nil {
		g.seed, g.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	var h maphash.Hash
	h.SetSeed(g.seed)
	if slice.From.Token == "" {
		g.anchor = slice.From.High
	}
	h.WriteString(g.anchor)
	for _, record := range slice.Records {
		h.WriteString(record.Key)
		h.WriteByte(0)
	}
	page := h.Sum64()
	if _, again := g.seen[page]; !again {
		if len(g.seen) == mostSeen {
			clear(g.seen)
		}
		g.seen[page] = struct{}{}
		g.times = 0
		g.fresh++
		return nil
	}
	if g.times++; g.times < g.limit && !counted {
		slice.Told.Twice = true
		return nil
	}
	return &collection.Stop{
		Reason: collection.BadPage, Detail: "the provider sends the same pages again and again", Err: collection.ErrNoProgress,
	}
}

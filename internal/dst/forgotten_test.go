package dst_test

import (
	"strings"

	"collect/collection"
)

// In some histories the provider forgets a cursor that it gave out, and the list that is
// asked for from its start then is mostly not there either. A process that has said that
// the walk begins anew sends that cursor no more, and neither do those after it, until
// the provider gives it out again.

// Forgotten is what is known of these cursors. The mutex of the wire guards it.
type forgotten struct {
	refused map[string]string   // the cursor that was refused last, by the path
	left    map[string]int      // how many requests from the start are refused, too, by the path
	dropped map[givenOut]string // who said that it is not used any more
}

// A givenOut is a cursor as the walks of one lane have it.
type givenOut struct {
	path, token string
	lane        collection.Lane
}

func newForgotten() forgotten {
	return forgotten{map[string]string{}, map[string]int{}, map[givenOut]string{}}
}

// forgets reports whether the nth request for what, with a cursor, is one too many.
func (p plan) forgets(what string, n int) bool {
	return p.chance(0, "forgets") < 0.3 && p.chance(n, "forgets ", what) < 0.1
}

// forgot reports whether the page at a cursor, or the first one behind such a page, is
// refused with a 404.
func (c conn) forgot(path, token, what string, n int) bool {
	f := c.forgotten
	if by, ok := f.dropped[givenOut{path, token, c.p.session.lane}]; ok && token != "" && !c.p.isFenced() {
		c.h.violate("I2: %s sent a cursor for %s that was refused, after %s had said that the walk begins anew", c.p.name, path, by)
	}
	switch {
	case c.calm:
		return false
	case token != "" && c.h.plan.forgets(what, n):
		f.refused[path], f.left[path] = token, int(3*c.h.plan.chance(n, "gone ", what))
		c.h.count("cursor forgotten")
		return true
	case token == "" && f.left[path] > 0:
		f.left[path]--
		c.h.count("cursor forgotten, and no list")
		return true
	}
	return false
}

// givesOut notes that the provider has sent a cursor, also to another lane.
func (c conn) givesOut(path, token string) {
	for _, lane := range []collection.Lane{collection.Incremental, collection.Backfill} {
		delete(c.forgotten.dropped, givenOut{path, token, lane})
	}
}

// hears notes which cursor a process has said to be refused.
func (p *process) hears(e collection.Event) {
	if e.Kind != collection.WarningRaised || !strings.HasSuffix(e.Message, "starts over") || p.isDead() || p.lostLease() {
		return
	}
	path := "/items"
	if e.Partition != "" {
		path += "/" + strings.TrimPrefix(e.Partition.String(), "item=") + "/" + e.Stream
	}
	w := p.h.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if token := w.forgotten.refused[path]; token != "" {
		w.forgotten.dropped[givenOut{path, token, p.session.lane}] = p.name
	}
}

package declarative

import (
	"fmt"
	"hash/maphash"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/paging"
)

// A guard sees to it that a walk ends, whatever the provider answers: every
// page reaches a cursor that was not seen, and there is an end to pages
// without a new record. It lives as long as one call of Slices; a walk that is
// taken up again begins with a new one.
type guard struct {
	seed  maphash.Seed
	limit collection.Limits
	from  string // the token that the walk begins with

	seen  map[uint64]struct{} // hashes of the last tokens, at most mostSeen
	mark  uint64              // a token that is moved up less and less often: finds circles of any length (Brent, 1980)
	steps int
	power int

	digest  uint64 // of the records of the page before
	without int    // pages in a row without a new record
	heeded  int    // pages that came by a token, and differ from the one before

	stuck error // why nothing behind the last page, which is stored, can be asked for; nil: it can
}

// mostSeen bounds the memory for tokens, at about 2 MiB.
const mostSeen = 1 << 16

func newGuard(limit collection.Limits) *guard {
	g := &guard{seed: maphash.MakeSeed(), limit: limit}
	g.reset("")
	return g
}

// reset starts over at token: in a walk that is anchored anew, the same page
// numbers follow.
func (g *guard) reset(token string) {
	*g = guard{seed: g.seed, limit: g.limit, from: token, seen: map[uint64]struct{}{}, power: 1}
	g.again(token)
}

// again notes token and reports whether it was seen before.
func (g *guard) again(token string) bool {
	h := maphash.String(g.seed, token)
	if _, ok := g.seen[h]; ok || g.steps > 0 && h == g.mark {
		return true
	}
	if len(g.seen) == mostSeen {
		clear(g.seen)
	}
	g.seen[h] = struct{}{}
	if g.steps++; g.steps == g.power {
		g.mark, g.power = h, 2*g.power
	}
	return false
}

// check judges the page p at token, with next the token after it, and returns
// the token to go on with. If nothing can be had with it, stuck says why.
func (g *guard) check(p *paging.Page, st *compile.Stream, token, next string) (string, error) {
	digest := g.digestOf(p.Overlapped, p.Elements)
	if p.Digest != "" {
		digest = maphash.String(g.seed, p.Digest)
	}
	switch {
	case len(p.Elements) == 0:
		g.without++
	case g.digest == digest:
		g.without++
	default:
		g.digest, g.without = digest, 0
		if token != "" {
			g.heeded++
		}
	}
	if pg, ok := st.Page.(paging.Counted); ok && g.without > 0 && len(p.Elements) > 0 {
		// We counted on, and not the provider: what should be here was never
		// sent, and to go on, or to end, would pass it by.
		also := ""
		if link, _ := paging.LinkTarget(p.Header.Values("Link"), "next"); link != "" {
			also = "; its answers have a Link to the next page: page: {link_header: next}"
		}
		return "", noProgress("two pages in a row are the same: %s, or may repeat its last page after the end%s", unheeded(pg.Ask(token)[0]), also)
	}
	if next == "" || next == token && len(p.Elements) == 0 {
		return "", nil // a feed of changes names where to go on later
	}
	if len(next) > g.limit.Cursor {
		return "", &collection.Stop{Reason: collection.TooLarge, Detail: fmt.Sprintf("the cursor of the next page is longer than %d bytes", g.limit.Cursor)}
	}
	if g.without >= g.limit.PagesWithout {
		if len(p.Elements) > 0 {
			return "", noProgress("the same page came %d times in a row", g.without+1)
		}
		return "", noProgress("%d pages in a row have no records, and each leads to another one%s", g.without, paging.ListNames(p.Body, st.Records.Path))
	}
	if g.again(next) {
		return g.circle(st, token, next)
	}
	return next, nil
}

// circle returns where a walk stands behind the page at token that leads to next, a page
// that was asked for before. A page that names itself is stored, and the walk stands at
// it: the provider may lead on from there later. A walk that begins at it does not store
// it again, which would end the gap there and open another one in each run.
func (g *guard) circle(st *compile.Stream, token, next string) (string, error) {
	what, why := "cursor", ""
	if asked := st.Page.Ask(next); len(asked) == 0 {
		what = "link to the next page"
	} else if g.heeded < 2 { // two pages that differ show that the parameter is heeded
		why = unheeded(asked[0])
	}
	if next != token || g.without > 0 {
		if why != "" {
			why = ": " + why
		}
		return "", noProgress("the same %s came twice, so that the walk would go in circles%s", what, why)
	}
	what = "the page names itself as the next one"
	if _, byLast := st.Page.(paging.ByLastID); byLast {
		what = "the last record of the page is the one that was asked from"
	}
	if why != "" {
		why = ", or " + why
	}
	stuck := noProgress("%s: nothing behind it can be asked for%s", what, why)
	if token == g.from {
		return "", stuck
	}
	g.stuck = stuck
	return token, nil
}

// unheeded says why a page may not be the one that was asked for by f.
func unheeded(f paging.Field) string {
	if f.Name == "" {
		return "this API may not look for the page where the request has ${page}"
	}
	return "this API may not know the parameter `" + f.Name + "`"
}

func noProgress(format string, args ...any) error {
	return &collection.Stop{Reason: collection.BadPage, Detail: fmt.Sprintf(format, args...), Err: collection.ErrNoProgress}
}

func (g *guard) digestOf(parts ...[][]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(g.seed)
	for _, elements := range parts {
		for _, e := range elements {
			h.Write(e)
			h.WriteByte('\n')
		}
	}
	return h.Sum64()
}

package declarative

import (
	"bytes"
	"context"
	"fmt"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/paging"
)

// page fetches the page at token, which some providers send in several answers.
//
// The parts of a page are accepted together or not at all. A walk that is cut off
// between two of them begins the page again: the cursor stands at its first answer.
func (w *walk) page(ctx context.Context, token string) (*paging.Page, error) {
	if w.st.Job != nil {
		return w.jobPage(ctx, token)
	}
	if w.st.Scroll != nil {
		return w.scrolled(ctx, token)
	}
	p, err := w.fetch(ctx, token)
	pg, ok := w.st.Page.(paging.ByContinue)
	if err != nil || !ok || pg.Whole(p) {
		return p, err
	}
	parts := newParts(w, token, p)
	for !pg.Whole(p) {
		next, err := pg.Next(p, token)
		if err == nil {
			err = w.storable(next)
		}
		if err == nil {
			err = parts.leadsTo(pg, next)
		}
		if err != nil {
			return nil, w.discreet(err)
		}
		clock, warnings := p.Clock, p.Warnings
		if p, err = w.fetch(ctx, next); err != nil {
			return nil, err
		}
		p.Clock, p.Warnings = clock, append(warnings, p.Warnings...) // what changed since the first part may be missing in it
		if err := parts.add(p); err != nil {
			return nil, err
		}
	}
	p.Elements = parts.elements
	return p, nil
}

// parts are the answers that make one page.
type parts struct {
	w        *walk
	elements [][]byte       // merged by key
	at       map[string]int // of elements, by key
	seen     map[string]bool
	size     int // bytes of all bodies
	without  int // answers in a row that added nothing
}

func newParts(w *walk, token string, first *paging.Page) *parts {
	p := &parts{w: w, at: map[string]int{}, seen: map[string]bool{token: true}}
	_ = p.add(first) // one answer alone is never too much
	p.without = 0
	return p
}

// leadsTo notes the token of the next part. One that comes twice goes in circles.
func (p *parts) leadsTo(pg paging.ByContinue, next string) error {
	limits := p.w.c.limits
	switch {
	case p.seen[next]:
		return noProgress("the same cursor came twice among the parts of one page, so that it would never be complete (`%s`)", pg.Complete.Text)
	case limits.Pages > 0 && len(p.seen) >= limits.Pages:
		return noProgress("a page is not complete after %d parts, the most that `pages` under `limits` allows", len(p.seen))
	case len(next) > limits.Cursor:
		return &collection.Stop{Reason: collection.TooLarge, Detail: fmt.Sprintf("the cursor of the next part is longer than %d bytes", limits.Cursor)}
	case p.without >= limits.PagesWithout:
		return noProgress("%d parts of one page in a row have nothing new, and none has `%s`", p.without, pg.Complete.Text)
	}
	p.seen[next] = true
	return nil
}

// add merges the elements of an answer with those that are there.
func (p *parts) add(part *paging.Page) error {
	if p.size += len(part.Body); int64(p.size) > p.w.c.limits.Body && len(p.seen) > 1 {
		return &collection.Stop{Reason: collection.TooLarge, Detail: "the parts of one page are together larger than `body` under `limits` allows"}
	}
	p.without++
	for _, e := range part.Elements {
		key, reject := "", "?"
		if e[0] == '{' {
			key, reject = p.w.st.KeyOf(e, p.w.vars)
		}
		i, had := p.at[key]
		if reject != "" || !had {
			if p.without = 0; reject == "" {
				p.at[key] = len(p.elements)
			}
			p.elements = append(p.elements, e)
			continue
		}
		merged := answer.Merge(p.elements[i], e)
		if !bytes.Equal(merged, answer.Merge(p.elements[i], p.elements[i][:0])) {
			p.without = 0
		}
		p.elements[i] = merged
	}
	return nil
}

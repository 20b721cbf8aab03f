package declarative

import (
	"fmt"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/paging"
)

// resumed returns the cursor of the page to ask for at from. A walk that begins
// where the provider's own token says that the one before it ended has that token
// in place of the first page, or in a parameter of all its pages.
func (w *walk) resumed(from collection.Cursor) collection.Cursor {
	if pg, ok := w.st.Page.(paging.Resuming); ok {
		if w.scope.Resume = from.Since; pg.Begins() && from.Token == "" {
			from.Token = from.Since
		}
	}
	return from
}

// resume returns the cursor at the end of a walk whose last page is p, at from: the
// next walk begins with the token that p has for it.
func (w *walk) resume(pg paging.Resuming, p *paging.Page, from collection.Cursor) (collection.Cursor, error) {
	end := collection.Cursor{Since: from.Since, Version: from.Version}
	token, err := pg.Resume(p)
	if err != nil {
		return end, w.discreet(err)
	}
	if _, ok := pg.(paging.Linked); ok {
		if token, err = w.link(token, from.Token); err != nil {
			return end, err
		}
	}
	switch {
	case w.c.secrets.in(token):
		return end, paging.BadPage("the token of the next walk contains the credential, so it is not stored")
	case len(token) > w.c.limits.Cursor:
		return end, &collection.Stop{Reason: collection.TooLarge, Detail: fmt.Sprintf("the token of the next walk is longer than %d bytes", w.c.limits.Cursor)}
	}
	end.Since, end.Done = token, true
	return end, nil
}

// Resumes reports whether a walk of a stream ends with a token that the next one begins
// with.
func (c *connector) Resumes(stream string) bool {
	st := c.spec.Stream(stream)
	return st != nil && resumes(st)
}

// resumes reports whether a walk of st begins where the provider's own token says that the one before it ended.
func resumes(st *compile.Stream) bool {
	_, yes := st.Page.(paging.Resuming)
	return yes
}

package declarative

import (
	"collect/collection"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/since"
)

// shortsAt returns the facts about short pages at the place of the walk.
func (w *walk) shortsAt(f since.Footing) paging.Shorts {
	if w.at.Partition != "" {
		f.Short = w.c.ofPartitions.Get(w.st.Name)
	}
	return f.Shorts
}

// reached reports whether the total that the provider tells ends with p, which
// is at token.
func (w *walk) reached(p *paging.Page, token string) bool {
	pg, ok := w.st.Page.(paging.Counted)
	if !ok {
		return false
	}
	told := w.total(p)
	seen, ok := pg.Seen(token, len(p.Elements))
	return ok && told.By != "" && !told.Pages && told.Total == int64(seen)
}

// noteShort returns the facts about short pages after p, which leads to next.
func (w *walk) noteShort(p *paging.Page, next string, known paging.Shorts) paging.Shorts {
	size := 0
	if pg, ok := w.st.Page.(paging.Counted); ok {
		size = pg.Most()
	}
	after := known.After(len(p.Elements) == 0, p.IsShort(size), next == "")
	if w.at.Partition != "" {
		w.c.ofPartitions.Note(w.st.Name, known.Short, after.Short)
		after.Short = 0
	}
	return after
}

// mayEnd reports whether a page behind p, which is at token, need not be asked for once
// all up to the beginning of the walk was read. A walk of everything goes on to the end
// of a list with a total, which is held against what came.
func (w *walk) mayEnd(p *paging.Page, token string, told collection.Told) bool {
	pg, ok := w.st.Page.(paging.Counted)
	return ok && token == "" && !w.begun.IsZero() && p.IsShort(pg.Most()) && (told.Partial || told.By == "")
}

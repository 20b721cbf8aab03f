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

// believes reports whether a short page p at token is the last one, of a list that was asked for from a mark or whole.
// What is asked for from a mark has any number of records, so that nothing shows that some were left out. Partitions and
// windows are too many to ask behind each.
func (w *walk) believes(p *paging.Page, token, mark string, known paging.Shorts) bool {
	pg, ok := w.st.Page.(paging.Counted)
	if !ok || w.at.Partition != "" || w.st.Windows != nil {
		return known.Believed()
	}
	seen, _ := pg.Seen(token, len(p.Elements))
	return mark == "" && known.BelievedAt(seen)
}

// noteShort returns the facts about short pages after p at token, which leads to next.
func (w *walk) noteShort(p *paging.Page, token, next string, known paging.Shorts) paging.Shorts {
	size, seen := 0, 0
	if pg, ok := w.st.Page.(paging.Counted); ok {
		size = pg.Most()
		seen, _ = pg.Seen(token, len(p.Elements))
	}
	after := known.After(len(p.Elements) == 0, p.IsShort(size), next == "", seen)
	if w.at.Partition != "" {
		w.c.ofPartitions.Note(w.st.Name, known.Short, after.Short)
		after = paging.Shorts{Behind: after.Behind}
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

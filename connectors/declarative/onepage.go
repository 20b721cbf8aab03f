package declarative

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
)

// usualSizes are how many records the pages of common APIs have by default, or at
// most.
var usualSizes = []int{20, 25, 30, 50, 100, 200, 250, 500, 1000}

// manySizes are those of usualSizes that a list which is whole seldom has: of
// thousands of lists, one for each parent, some have twenty records.
const manySizes = 100

// maybeCut returns a warning if a list that is declared as one page seems to be
// cut into several: its envelope leads on to another one, or it has exactly as
// many records as a page. So has a first page that ends a walk by what may be a
// wrong path.
func (w *walk) maybeCut(p *paging.Page) *collection.Warning {
	if why := paging.EndsByPath(p, w.st.Page); why != "" && w.isUsual(p) {
		return &collection.Warning{Code: collection.MaybeOnePage, Text: fmt.Sprintf(
			"exactly %d records came, which is a common page size, and %s: if there are more, correct the path in `page`", len(p.Elements), why)}
	}
	if one, ok := w.st.Page.(paging.OnePage); !ok || one.Detail || p.Body == nil || w.st.Windows != nil && w.st.Windows.Full(len(p.Elements)) {
		return nil
	}
	n := len(p.Elements)
	if name := paging.LeadsOn(p.Body, w.st.Records.Path); name != "" {
		if w.c.secrets.in(name) {
			name = "…"
		}
		return &collection.Warning{Code: collection.MaybeOnePage, Text: fmt.Sprintf(
			"%s came, and `%s` seems to lead to more, but `page` says that the list is one page: say with `page` how to read the next one", records(n), name)}
	}
	if !w.isUsual(p) {
		return nil
	}
	if w.st.Windows != nil {
		return &collection.Warning{Code: collection.MaybeOnePage, Text: fmt.Sprintf(
			"exactly %[1]d records came for one window of time, which is a common bound: if the provider gives no more at once, say so in `windows` with cap: %[1]d, or take a smaller `step`", n)}
	}
	return &collection.Warning{Code: collection.MaybeOnePage, Text: fmt.Sprintf(
		"exactly %d records came, which is a common page size, and `page` says that the list is one page: if there are more, say with `page` how to read the next one", n)}
}

// isUsual reports whether p has exactly as many records as a page often has, and does not say that these are all.
func (w *walk) isUsual(p *paging.Page) bool {
	n := len(p.Elements)
	return slices.Contains(usualSizes, n) && (n >= manySizes || w.at.Partition == "") && !paging.TellsAll(p, w.st.Total)
}

// limits are parameters that say how many records a page may have.
var limits = []string{"limit", "per_page", "page_size", "pagesize", "size", "count", "top", "$top", "max", "max_results", "maxresults", "rows", "first", "take"}

// asksFor returns the parameter with which the query of the stream asks for n
// records; "" if there is none.
func (w *walk) asksFor(n int) string {
	for _, q := range w.st.Query {
		if n > 1 && slices.Contains(limits, strings.ToLower(q.Name)) && q.Value.Expand(w.scope) == strconv.Itoa(n) {
			return q.Name
		}
	}
	return ""
}

package declarative

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
)

// told returns what p, which is at token and leads to next, says of the list
// that it is a part of. A detail is not a part of anything.
func (w *walk) told(p *paging.Page, asked, token, next string) collection.Told {
	if w.st.Role == collection.Detail {
		return collection.Told{First: token == ""}
	}
	if w.creates(token) {
		return collection.Told{First: true, Partial: asked != ""}
	}
	told := w.total(p)
	told.Expect = w.st.Expect.Expectation
	told.First, told.Partial, told.Window = token == "", asked != "", w.st.Windows != nil
	told.Counted = w.numbered(p, token, next)
	told.Feed = resumes(w.st)
	if next == "" {
		told.End = w.st.Page.End(p)
	}
	if p.NotThere {
		told.End = collection.EndNotThere
	}
	if o, ok := w.st.Page.(paging.Overlapping); ok && o.Overlap(token) > 0 {
		told.Overlap, told.Seam = true, p.Seam
	}
	told.Last, told.Open = p.LastName, p.Open
	return told
}

// total returns the total that p tells, unless it counts something else.
func (w *walk) total(p *paging.Page) collection.Told {
	if w.st.IgnoreTotal {
		return collection.Told{}
	}
	told := paging.TotalOf(p, w.st.Page, w.st.Total)
	if told.Pages && w.st.Size != nil {
		return collection.Told{} // it counts pages of one size
	}
	return told
}

// numbered reports whether the pages are cut by numbers, so that a record that
// is deleted or moved makes others change their page: numbers that we count, or
// that stand in the URL or the cursor which the provider hands out.
func (w *walk) numbered(p *paging.Page, token, next string) bool {
	switch w.st.Page.(type) {
	case paging.Counted:
		return true
	case paging.Resuming:
		return false // a record that changes moves to the end of the list, where it is read again
	case paging.Linked:
		return numberedURL(token) || numberedURL(next)
	}
	n, before := len(p.Elements), w.sent(token)
	return n > 0 && slices.ContainsFunc(w.sent(next), func(f paging.Field) bool {
		at := 0 // on the first page
		if i := slices.IndexFunc(before, func(b paging.Field) bool { return b.Name == f.Name && b.Value != "" }); i >= 0 {
			var err error
			if at, err = strconv.Atoi(before[i].Value); err != nil {
				return false
			}
		}
		to, err := strconv.Atoi(f.Value)
		// Some records of the page may be left out; and a cursor that is the key of the
		// last record counts nothing.
		return err == nil && to-at >= n && to-at <= 2*n && w.nameOf(p.Elements[n-1]) != f.Value
	})
}

// sent returns what a page is asked for with.
func (w *walk) sent(token string) []paging.Field {
	if asked := w.st.Page.Ask(token); len(asked) > 0 {
		return asked
	}
	return []paging.Field{{Value: token}}
}

// numberNames are parameters that number pages or records in the URLs of next
// pages.
var numberNames = []string{"page", "offset", "skip", "$skip", "start", "startat", "page[number]", "page[offset]"}

func numberedURL(link string) bool {
	u, err := url.Parse(link)
	if err != nil || link == "" {
		return false
	}
	for name, values := range u.Query() {
		for _, known := range numberNames {
			if _, err := strconv.Atoi(values[0]); err == nil && strings.EqualFold(name, known) {
				return true
			}
		}
	}
	return false
}

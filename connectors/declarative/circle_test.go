package declarative_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"collect/collection"
)

// TestAPageThatNamesItself: its records came and are stored; the walk stands at it, and
// says that nothing behind it can be asked for, whatever total it tells.
func TestAPageThatNamesItself(t *testing.T) {
	const (
		stuck    = "the page names itself as the next one: nothing behind it can be asked for"
		unheeded = ", or this API may not know the parameter `c`"
		cursor   = "page: {cursor: {from: next, param: c}}"
		since    = `, since: {field: id, param: s, format: unix, lookback: 1s, start: "0"}`
	)
	for _, test := range []struct {
		name, stream, total string
		from                string // the token of the first page that is asked for
		last                int    // the page that names itself
		records             int
		detail              string
	}{
		{"a cursor", cursor, "", "", 2, 25, stuck},
		{"a cursor, in a later run", cursor, "", "2", 2, 0, stuck + unheeded},
		{"a cursor that led to one page", cursor, "", "", 1, 20, stuck + unheeded},
		{"a link", "page: {link_header: next}", "", "", 2, 25, stuck},
		{"a last record", "page: {last_id: {param: c, field: page}}", "", "", 2, 25, "the last record of the page is the one that was asked from: nothing behind it can be asked for"},
		{"all of a total", cursor, `,"total":25`, "", 2, 25, stuck},
		{"less than a total", cursor, `,"total":26`, "", 2, 25, stuck},
		{"a count of the page", cursor, `,"total":10`, "", 2, 25, stuck},
		{"a mark", cursor + since, "", "", 2, 25, stuck},
	} {
		t.Run(test.name, func(t *testing.T) {
			handler := func(w http.ResponseWriter, r *http.Request) {
				at := number(r, "c", 0)
				next := min(at+1, test.last)
				if strings.Contains(test.stream, "link_header") {
					w.Header().Set("Link", fmt.Sprintf(`</things?c=%d>; rel="next"`, next))
				}
				page := list(10*at+1, min(10*at+10, 25), fmt.Sprintf(`,"next":%d%s`, next, test.total))
				fmt.Fprint(w, strings.ReplaceAll(page, `{"id"`, fmt.Sprintf(`{"page":%d,"id"`, next)))
			}
			c := open(t, &httptest.Server{}, file("records: items, "+test.stream))
			var last collection.Slice
			var stop *collection.Stop
			n := 0
			for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{http.HandlerFunc(handler)}}, things0, collection.Cursor{Token: test.from}) {
				if err != nil {
					stop, _ = errors.AsType[*collection.Stop](err)
					break
				}
				last, n = slice, n+len(slice.Records)
			}
			ends(t, n, test.records, stop, test.detail)
			if stop == nil || !errors.Is(stop, collection.ErrNoProgress) || last.Next.Done || last.Next.Token != last.From.Token {
				t.Errorf("the walk stands at %+v behind the page at %+v, with %v; want that page, and no progress", last.Next, last.From, stop)
			}
		})
	}
}

package declarative_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"collect/collection"
)

// TestOnePageThatMayBeCut: a list that is declared as one page, and seems to be
// one of several, is told of.
func TestOnePageThatMayBeCut(t *testing.T) {
	const none = "records: items, page: {none: true}"
	const exactly = "exactly %d records came"
	tests := []struct {
		stream, body string
		want         string // the beginning of the warning
	}{
		{none, list(1, 100, ""), fmt.Sprintf(exactly, 100)},
		{none, list(1, 99, ""), ""},
		{none, list(1, 101, ""), ""},
		{none, list(1, 20, ""), fmt.Sprintf(exactly, 20)},
		{none, list(1, 10, ""), ""},
		{none, `{"items":[]}`, ""},
		{"page: {none: true}", things(1, 50), fmt.Sprintf(exactly, 50)},
		{"query: {limit: 16}, " + none, list(1, 15, ""), ""},
		{none, list(1, 100, `,"total":100`), ""},
		{none, list(1, 100, `,"total":2509`), fmt.Sprintf(exactly, 100)},
		{none, list(1, 100, `,"meta":{"total_count":100}`), ""},
		{none, list(1, 7, `,"next":"/things?page=2"`), "7 records came, and `next` seems to lead to more"},
		{none, list(1, 7, `,"continue":{"rvcontinue":"x"}`), "7 records came, and `continue` seems to lead to more"},
		{none, list(1, 7, `,"has_more":false,"next":null,"links":{"self":"/things"},"nextSyncToken":"x"`), ""},
		{"query: {a: '${window.from}', b: '${window.to}'}, windows: {from: 2024-01-01, until: 2024-02-01, step: 7d, lookback: 1h, format: date}, " + none, list(1, 100, ""), "exactly 100 records came for one window of time, which is a common bound: if the provider gives no more at once, say so in `windows` with cap: 100, or"},
		{"query: {a: '${window.from}', b: '${window.to}'}, windows: {from: 2024-01-01, until: 2024-02-01, step: 7d, lookback: 1h, cap: 100}, " + none, list(1, 100, ""), ""},
		{"page: {cursor: {from: next, param: c}}, records: items", list(1, 100, `,"next":null`), ""},
		{"page: {cursor: {from: next, param: c, optional: true}}, records: items", list(1, 50, ""), "exactly 50 records came, which is a common page size, and the page has nothing at `next`"},
		{"page: {cursor: {from: meta.next, param: c, optional: true}}, records: items", list(1, 50, `,"meta":{}`), "exactly 50 records came, which is a common page size, and the page has nothing at `meta.next`"},
		{"page: {cursor: {from: next, param: c, optional: true}}, records: items", list(1, 50, `,"next":null`), ""},
		{"page: {cursor: {from: next, param: c, optional: true}}, records: items", list(1, 50, `,"total":50`), ""},
		{"page: {cursor: {from: next, param: c, optional: true}}, records: items", list(1, 40, ""), ""},
		{"page: {cursor: {from: next, param: c, optional: true}}, records: items", list(1, 50, `,"next":"x"`), ""},
		{"page: {next_url: {path: links.forth, optional: true}}, records: items", list(1, 100, ""), "exactly 100 records came, which is a common page size, and the page has nothing at `links.forth`"},
		{"page: {cursor: {header: X-Next, param: c, optional: true}}, records: items", list(1, 100, ""), "exactly 100 records came, which is a common page size, and the page has no header X-Next"},
		{"page: {cursor: {from: next, param: c, more: partial}}, records: items", list(1, 50, `,"partial":false,"next":"x"`), "exactly 50 records came, which is a common page size, and `partial` says that there are no more, but `next` has a cursor"},
		{"page: {cursor: {from: next, param: c, more: partial}}, records: items", list(1, 50, `,"partial":false,"next":null`), ""},
		{"page: {cursor: {from: next, param: c, more: partial}}, records: items", list(1, 49, `,"partial":false,"next":"x"`), ""},
		{"page: {cursor: {from: next, param: c, more: has_more}}, records: items", list(1, 50, `,"has_more":false,"next":"x"`), ""},
	}
	full, err := first(t, answer(200, list(1, 15, "")), "query: {limit: 15}, "+none)
	if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.BadPage {
		t.Errorf("as many as the query asks for: %d records and %v, want bad_page", len(full.Records), err)
	}
	for _, test := range tests {
		slice, err := first(t, answer(200, test.body), test.stream)
		if err != nil {
			t.Errorf("%s: %v", test.stream, err)
		}
		var got strings.Builder
		for _, w := range slice.Warnings {
			if w.Code != collection.MaybeOnePage {
				t.Errorf("%s: %v", test.stream, w)
			}
			got.WriteString(w.Text)
		}
		if !strings.HasPrefix(got.String(), test.want) || test.want == "" && got.String() != "" {
			t.Errorf("%s with %d bytes: %q, want %q…", test.stream, len(test.body), got.String(), test.want)
		}
	}
}

// TestMoreBesideTheRecords: what says that there is another page may stand beside
// the records, deep in the body. What stands in a record is about another list.
func TestMoreBesideTheRecords(t *testing.T) {
	const stream = "records: data.repo.things.nodes, page: {none: true}"
	body := func(inside, beside string) string {
		return `{"data":{"repo":{"things":{"nodes":[{"id":1` + inside + `}]` + beside + `}}}}`
	}
	for text, want := range map[string]bool{
		body("", `,"pageInfo":{"hasNextPage":true}`):              true,
		body("", `,"has_more":true`):                              true,
		body("", `,"pageInfo":{"hasNextPage":false}`):             false,
		body(`,"comments":{"pageInfo":{"hasNextPage":true}}`, ""): false,
	} {
		_, err := first(t, answer(200, text), stream)
		if stop, ok := errors.AsType[*collection.Stop](err); (ok && stop.Reason == collection.BadPage) != want || !ok && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

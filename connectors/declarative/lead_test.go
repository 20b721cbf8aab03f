package declarative_test

import (
	"fmt"
	"net/http"
	"testing"
)

// TestALeadElsewhere: a list whose first page has nothing at the place that the file
// names, and leads on at another one, is no whole list, however many records the page
// has and whether the place is optional or not.
func TestALeadElsewhere(t *testing.T) {
	const (
		cursor   = "{cursor: {from: %s, param: c, optional: true}}"
		inPath   = "the page has no `%s`, but `%s` seems to lead to another page: page: %s"
		inHeader = "the answer has no header %s, but `next_cursor` seems to lead to another page: page: %s"
		inLink   = "the answer has no Link to another page, but `%s` seems to lead to another page: page: %s"
		guessed  = ", with the parameter of this API"
	)
	by := func(path string) string { return fmt.Sprintf(cursor, path) }
	lost := func(path, is, page string) string { return fmt.Sprintf(inPath, path, is, page) }
	for _, test := range []struct {
		page, more string
		detail     string // "" for a good end
	}{
		{by("next_cursor"), `,"meta":{"next_cursor":"x"}`, lost("next_cursor", "meta.next_cursor", "{cursor: {from: meta.next_cursor, param: c}}")},
		{by("metadata.next_cursor"), `,"meta":{"next_cursor":"x"}`, lost("metadata.next_cursor", "meta.next_cursor", "{cursor: {from: meta.next_cursor, param: c}}")},
		{by("meta.next"), `,"next":"?b"`, lost("meta.next", "next", "{next_url: next}")},
		{"{cursor: {from: meta.next, param: c}}", `,"next":"http://api.test/b"`, lost("meta.next", "next", "{next_url: next}")},
		{by("next"), `,"pagination":{"next":"x"}`, lost("next", "pagination.next", "{cursor: {from: pagination.next, param: c}}")},
		{by("paging.cursor.after"), `,"paging":{"cursors":{"before":"a","after":"b"},"next":"https://api.test/?after=b"}`, lost("paging.cursor.after", "paging.next", "{next_url: paging.next}")},
		{by("paging.after"), `,"paging":{"next":{"after":"7"}}`, lost("paging.after", "paging.next.after", "{cursor: {from: paging.next.after, param: c}}")},
		{by("nxt"), `,"nextToken":"x"`, lost("nxt", "nextToken", "{cursor: {from: nextToken, param: c}}")},
		{by("nxt"), `,"next_cursor":12`, lost("nxt", "next_cursor", "{cursor: {from: next_cursor, param: c}}")},
		{"{next_url: {path: nxt, optional: true}}", `,"nextLink":"https://api.test/b"`, lost("nxt", "nextLink", "{next_url: nextLink}")},
		{"{next_url: {path: nxt, optional: true}}", `,"next_cursor":"x"`, lost("nxt", "next_cursor", "{cursor: {from: next_cursor, param: cursor}}"+guessed)},
		{"{next_url: {path: nxt, optional: true}}", `,"_links":{"self":{"href":"/a"},"next":{"href":"/b"}}`, lost("nxt", "_links.next.href", "{next_url: _links.next.href}")},
		{"{next_url: {path: nxt, optional: true}}", `,"@odata.nextLink":"https://api.test/b"`, lost("nxt", `@odata\.nextLink`, `{next_url: '@odata\.nextLink'}`)},
		{by("nxt"), `,"page":{"next-cursor":"x"}`, lost("nxt", "page.next-cursor", "{cursor: {from: page.next-cursor, param: c}}")},
		{by("nxt"), `,"links":{"self":"/a","next":"/a?page=2","last":"/a?page=2"}`, lost("nxt", "links.next", "{next_url: links.next}")}, // a list of two pages
		{by("nxt"), `,"next_cursor":"x","total":7,"total_results":9`, lost("nxt", "next_cursor", "{cursor: {from: next_cursor, param: c}}")},
		{by("nxt"), `,"next_cursor":"x","total_pages":2`, lost("nxt", "next_cursor", "{cursor: {from: next_cursor, param: c}}")},
		{"{next_url: {path: '@odata.nextLink', optional: true}}", `,"@odata.nextLink":"https://api.test/b"`, "the page has no `@odata.nextLink`, but it has a member of that whole name: a dot inside a name has a backslash in front; write '@odata\\.nextLink' in `page`"},
		{"{cursor: {header: X-Next, param: c}}", `,"next_cursor":"x"`, fmt.Sprintf(inHeader, "X-Next", "{cursor: {from: next_cursor, param: c}}")},
		{"{next_url: {header: X-Next}}", `,"next_cursor":"x"`, fmt.Sprintf(inHeader, "X-Next", "{cursor: {from: next_cursor, param: cursor}}"+guessed)},
		{"{link_header: next}", `,"meta":{"next_cursor":"x"}`, fmt.Sprintf(inLink, "meta.next_cursor", "{cursor: {from: meta.next_cursor, param: cursor}}"+guessed)},
		{"{link_header: next}", `,"links":{"next":"/b"}`, fmt.Sprintf(inLink, "links.next", "{next_url: links.next}")},
		{"{link_header: next}", `,"has_more":true`, "`has_more` is true, so there is another page, but `page` in the connector file does not find it: correct `page`"},

		{"{link_header: prev}", `,"has_more":true,"next":"/b"`, ""},
		{"{link_header: next}", `,"links":{"next":null},"has_more":false`, ""},
		{by("nxt"), `,"next":null,"next_cursor":"","nextToken":0,"next_url":{}`, ""},
		{by("nxt"), `,"next":3`, ""}, // a number of many meanings
		{by("nxt"), `,"next":{"id":7}`, ""},
		{by("nxt"), `,"next_cursor":"0"`, ""},
		{by("nxt"), `,"cursor":"x"`, ""},
		{by("nxt"), `,"paging":{"cursors":{"after":"x"}}`, ""},
		{by("nxt"), `,"previous":"/a","first":"/a","last":"/z","self":"/a"`, ""},
		{by("nxt"), `,"links":{"self":"/a","next":"/a"}`, ""},
		{by("nxt"), `,"_links":{"self":{"href":"/a"},"next":{"href":"/a"}}`, ""},
		{by("nxt"), `,"next_cursor":"x","has_more":false`, ""},
		{by("nxt"), `,"meta":{"next_cursor":"x"},"isLast":true`, ""},
		{by("nxt"), `,"next_cursor":"x","total":7`, ""},
		{by("nxt"), `,"next_cursor":"x","has_next":false`, ""},
		{by("nxt"), `,"next_cursor":"x","hasNext":false`, ""},
		{by("nxt"), `,"next_cursor":"x","HasMore":"false"`, ""},
		{by("nxt"), `,"next_cursor":"x","has_more":0`, ""},
		{by("nxt"), `,"next_cursor":"x","moreDataAvailable":false`, ""},
		{by("nxt"), `,"next_cursor":"x","total_pages":1`, ""},
		{by("nxt"), `,"next_cursor":"x","meta":{"lastPage":1}`, ""},
		{"{link_header: next}", `,"page":1,"pages":1,"next":"/a?page=2"`, ""},
		{by("nxt"), `,"links":{"self":"https://api.test/a?page=1","next":"/a?page=1"}`, ""},
		{by("nxt"), `,"links":{"self":"/a?page=1","next":{"href":"?page=1"}}`, ""},
		{"{link_header: next}", `,"now":"Song A","next":"Song B"`, ""},
		{"{link_header: next}", `,"prev":"2024-04","next":"2024-06"`, ""},
		{"{link_header: next}", `,"prev":{"url":"/post/3"},"next":{"url":"/post/5"}`, ""},
		{"{link_header: next}", `,"more":true`, ""},
		{by("nxt"), `,"next_run":"2024-01-01","next_event":"x","nextSyncToken":"y","continue_url":"/c"`, ""},
		{by("nxt"), `,"linked":{"next":"/b"}`, ""}, // no envelope of a list
		{"{cursor: {from: nxt, param: c, more: more}}", `,"more":false,"next_cursor":"x"`, ""},
		{by("nxt"), `,"nxt":null,"next_cursor":"x"`, ""},
	} {
		t.Run(test.page+" with "+test.more, func(t *testing.T) {
			records, stop := walkAll(t, replay("", list(1, 7, test.more)), file("records: items, page: "+test.page))
			want := 7
			if test.detail != "" {
				want = 0
			}
			ends(t, records, want, stop, test.detail)
		})
	}
	t.Run("a count of the page is no total", func(t *testing.T) {
		_, stop := walkAll(t, replay("", list(1, 7, `,"count":7,"next_cursor":"x"`)), file("records: items, page: "+by("nxt")))
		if stop == nil {
			t.Error("a good end, want bad_page")
		}
	})
	t.Run("in the object that the list stands in", func(t *testing.T) {
		for more, whole := range map[string]bool{`"next_cursor":"x"`: false, `"next_cursor":"x","total":1`: true, `"next_cursor":"x","has_more":false`: true, `"_links":{"next":"/b"},"total":1`: true} {
			_, stop := walkAll(t, replay("", `{"data":{"items":[{"id":1}],`+more+`}}`), file("records: data.items, page: "+by("nxt")))
			if (stop == nil) != whole {
				t.Errorf("%s: stopped: %v, want a good end: %t", more, stop, whole)
			}
		}
	})
	t.Run("a later page", func(t *testing.T) { // the page before led to it by the path
		records, stop := walkAll(t, replay("", list(1, 7, `,"meta":{"next":"x"}`), list(8, 9, `,"next_cursor":"for later"`)), file("records: items, page: "+by("meta.next")))
		ends(t, records, 9, stop, "")
	})
	t.Run("an empty page", func(t *testing.T) {
		records, stop := walkAll(t, replay("", `{"items":[],"next_cursor":"for later"}`), file("records: items, page: "+by("nxt")))
		ends(t, records, 0, stop, "")
	})
	for _, rel := range []string{"first", "self"} {
		t.Run("links that end with rel="+rel, func(t *testing.T) {
			records, stop := walkAll(t, replay(`</things?page=1>; rel="`+rel+`"`, list(1, 7, `,"next":"/b"`)), file("records: items, page: {link_header: next}"))
			ends(t, records, 7, stop, "")
		})
	}
	t.Run("a later page by links", func(t *testing.T) {
		n := 0
		records, stop := walkAll(t, func(w http.ResponseWriter, _ *http.Request) {
			if n++; n == 1 {
				w.Header().Set("Link", `</things?page=2>; rel="next"`)
				fmt.Fprint(w, list(1, 7, ""))
				return
			}
			fmt.Fprint(w, list(8, 9, `,"has_more":true`))
		}, file("records: items, page: {link_header: next}"))
		ends(t, records, 9, stop, "")
	})
}

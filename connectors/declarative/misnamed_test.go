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

// list is a body with the records from, from+1, … to, and more beside them.
func list(from, to int, more string) string {
	return fmt.Sprintf(`{"items":%s%s}`, things(from, to), more)
}

// replay answers the n-th request with the n-th body, and all of them with the
// Link header link.
func replay(link string, bodies ...string) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, _ *http.Request) {
		if link != "" {
			w.Header().Set("Link", link)
		}
		n++
		if n > len(bodies) {
			http.Error(w, "one request too many", http.StatusTeapot)
			return
		}
		fmt.Fprint(w, bodies[n-1])
	}
}

// walkAll returns the number of records of a whole walk, and the Stop that
// ended it.
func walkAll(t *testing.T, handler http.HandlerFunc, src string) (records int, stop *collection.Stop) {
	t.Helper()
	c := open(t, &httptest.Server{}, src)
	for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{handler}}, things0, collection.Cursor{}) {
		if err != nil {
			stop, ok := errors.AsType[*collection.Stop](err)
			if !ok {
				t.Fatalf("error %v, want none or a *collection.Stop", err)
			}
			return records, stop
		}
		records += len(slice.Records)
	}
	return records, nil
}

// ends checks how a walk ended: with that many records, and in a bad page if
// detail is not empty.
func ends(t *testing.T, records, want int, stop *collection.Stop, detail string) {
	t.Helper()
	if records != want {
		t.Errorf("%d records, want %d", records, want)
	}
	switch {
	case detail == "" && stop != nil:
		t.Errorf("stopped: %v, want a good end", stop)
	case detail != "" && (stop == nil || stop.Reason != collection.BadPage || stop.Detail != detail):
		t.Errorf("stopped: %v, want bad_page: %s", stop, detail)
	}
}

// TestNextPageAtAWrongPath: a path at which no page has anything must not pass
// for the end of the list, and an API that is silent at the end must not be
// taken for one with a wrong path.
func TestNextPageAtAWrongPath(t *testing.T) {
	const cursor, url = "{cursor: {from: next, param: c}}", "{next_url: next}"
	const inCursor = "the page has no `next`, but it looks full (%d records); if this API leaves it out on the last page: optional: true"
	const inURL = "the page has no `next`, but it looks full (%d records); if this API leaves it out on the last page: next_url: {path: next, optional: true}"
	const wiki = "{cursor: {from: continue.apcontinue, param: c, optional: true}}"
	tests := []struct {
		name, page string
		bodies     []string
		records    int
		detail     string // "" for a good end
	}{
		{"cursor: absent, 100 records", cursor, []string{list(1, 100, `,"nxt":"x"`)}, 0, fmt.Sprintf(inCursor, 100)},
		{"cursor: absent, 10 records", cursor, []string{list(1, 10, "")}, 0, fmt.Sprintf(inCursor, 10)},
		{"cursor: absent, 75 records", cursor, []string{list(1, 75, "")}, 0, fmt.Sprintf(inCursor, 75)},
		{"cursor: of another case", cursor, []string{list(1, 10, `,"Next":"x"`)}, 0, "the page has no `next`, but it has `Next`: a path has the letters of the name, large and small; correct it in `page`"},
		{"cursor: null", cursor, []string{list(1, 100, `,"next":null`)}, 100, ""},
		{"cursor: empty", cursor, []string{list(1, 100, `,"next":""`)}, 100, ""},
		{"cursor: false", cursor, []string{list(1, 100, `,"next":false`)}, 100, ""},
		{"cursor: absent on a short page", cursor, []string{list(1, 7, "")}, 7, ""},
		{"cursor: absent on an empty page", cursor, []string{`{"items":[]}`}, 0, ""},
		{"cursor: absent on a later page", cursor, []string{list(1, 50, `,"next":"x"`), list(51, 100, "")}, 100, ""},
		{"cursor: optional", "{cursor: {from: next, param: c, optional: true}}", []string{list(1, 100, "")}, 100, ""},
		{"cursor: optional and there", "{cursor: {from: next, param: c, optional: true}}", []string{list(1, 50, `,"next":"x"`), list(51, 100, "")}, 100, ""},
		{"cursor: not optional", "{cursor: {from: next, param: c, optional: false}}", []string{list(1, 100, "")}, 0, fmt.Sprintf(inCursor, 100)},
		{"cursor: absent, and no more", "{cursor: {from: next, param: c, more: more}}", []string{list(1, 100, `,"more":false`)}, 100, ""},
		{"cursor: absent, and more", "{cursor: {from: next, param: c, more: more}}", []string{list(1, 100, `,"more":true`)}, 0, "`more` says that there is more, but there is no cursor at `next`"},
		{"cursor: in an object that is null", "{cursor: {from: meta.next, param: c}}", []string{list(1, 100, `,"meta":null`)}, 100, ""},
		{"cursor: in an object that is empty", "{cursor: {from: meta.next, param: c}}", []string{list(1, 100, `,"meta":{}`)}, 0, strings.Replace(fmt.Sprintf(inCursor, 100), "next", "meta.next", 1)},

		{"cursor: under another name", wiki, []string{list(1, 50, `,"continue":{"rvcontinue":"x","continue":"||"}`)}, 0, "`continue` has no `apcontinue`, but it has `rvcontinue`, `continue`, which may lead to the next page: correct the path in `page`"},
		{"cursor: under another name on a short page", wiki, []string{list(1, 7, `,"continue":{"rvcontinue":"x"}`)}, 0, "`continue` has no `apcontinue`, but it has `rvcontinue`, which may lead to the next page: correct the path in `page`"},
		{"cursor: under another name on a later page", wiki, []string{list(1, 50, `,"continue":{"apcontinue":"x"}`), list(51, 100, `,"continue":{"rvcontinue":"y"}`)}, 50, "`continue` has no `apcontinue`, but it has `rvcontinue`, which may lead to the next page: correct the path in `page`"},
		{"cursor: not optional, under another name", "{cursor: {from: continue.apcontinue, param: c}}", []string{list(1, 50, `,"continue":{"rvcontinue":"x"}`)}, 0, "`continue` has no `apcontinue`, but it has `rvcontinue`, which may lead to the next page: correct the path in `page`"},
		{"cursor: what holds it is absent at the end", wiki, []string{list(1, 50, `,"continue":{"apcontinue":"x"}`), list(51, 100, "")}, 100, ""},
		{"cursor: what holds it is empty", wiki, []string{list(1, 50, `,"continue":{}`)}, 50, ""},
		{"cursor: what holds it is null", wiki, []string{list(1, 50, `,"continue":null`)}, 50, ""},
		{"cursor: what holds it says no", wiki, []string{list(1, 50, `,"continue":{"rvcontinue":"","more":false,"left":0,"also":[]}`)}, 50, ""},
		{"cursor: a name of the provider that is no name", wiki, []string{list(1, 50, `,"continue":{"a\u001b[31m b":"x"}`)}, 0, "`continue` has no `apcontinue`, but it has `…`, which may lead to the next page: correct the path in `page`"},
		{"cursor: beside it is what leads back", "{cursor: {from: meta.next_token, param: c, optional: true}}", []string{list(1, 50, `,"meta":{"result_count":50,"previous_token":"x"}`)}, 50, ""},
		{"cursor: another next beside it", "{cursor: {from: meta.next, param: c, optional: true}}", []string{list(1, 50, `,"meta":{"nextCursor":"x"}`)}, 0, "the page has no `meta.next`, but `meta.nextCursor` seems to lead to another page: page: {cursor: {from: meta.nextCursor, param: c}}"},
		{"cursor: another next on the page, which looks full", "{cursor: {from: next, param: c, optional: true}}", []string{list(1, 50, `,"nextPageToken":"x"`)}, 0, "the page has no `next`, but `nextPageToken` seems to lead to another page: page: {cursor: {from: nextPageToken, param: c}}"},
		{"cursor: another next of no usual name on the page, which looks full", "{cursor: {from: next, param: c, optional: true}}", []string{list(1, 50, `,"nextOffset":50`)}, 0, "the page has no `next`, but it looks full (50 records) and has `nextOffset`, which may lead to the next page: correct the path in `page`"},
		{"cursor: the next synchronization", "{cursor: {from: nextPageToken, param: c, optional: true}}", []string{list(1, 50, `,"nextSyncToken":"x"`)}, 50, ""},
		{"next url: beside it are links that lead elsewhere", "{next_url: {path: links.next, optional: true}}", []string{list(1, 50, `,"links":{"self":"?a","first":"?a","last":"?b","prev":null}`)}, 50, ""},
		{"next url: beside it are cursors", "{next_url: {path: paging.next, optional: true}}", []string{list(1, 50, `,"paging":{"cursors":{"before":"a","after":"b"},"previous":"?a"}`)}, 50, ""},
		{"next url: an object with a token and an address", "{next_url: {path: paging.next, optional: true}}", []string{list(1, 7, `,"paging":{"next":{"limit":100,"after":"100","link":"https://api.test/?after=100"}}`)}, 0, "the value at `paging.next` is neither text nor a number: page: {cursor: {from: paging.next.after, param: after}}, with the parameter of this API; or page: {next_url: paging.next.link}"},
		{"next url: an object with an address", "{next_url: links.next}", []string{list(1, 7, `,"links":{"next":{"href":"/b","title":"two"}}`)}, 0, "the value at `links.next` is neither text nor a number: page: {next_url: links.next.href}"},
		{"cursor: an object with a token", "{cursor: {from: next, param: c}}", []string{list(1, 7, `,"next":{"after":7}`)}, 0, "the value at `next` is neither text nor a number: page: {cursor: {from: next.after, param: c}}"},
		{"cursor: an object with tokens of no usual name", "{cursor: {from: next, param: c}}", []string{list(1, 7, `,"next":{"of":{"x":"y"},"none":"","a\u001b[31m b":"z","k.1":"v","k2":2}`)}, 0, "the value at `next` is neither text nor a number: page: {cursor: {from: 'next.k\\.1', param: c}}; or page: {cursor: {from: next.k2, param: c}}"},
		{"cursor: an object with a token many times", "{cursor: {from: next, param: c}}", []string{list(1, 7, `,"next":{`+strings.Repeat(`"after":1,`, 99)+`"after":1}`)}, 0, "the value at `next` is neither text nor a number: page: {cursor: {from: next.after, param: c}}" + strings.Repeat("; or page: {cursor: {from: next.after, param: c}}", 2)},
		{"cursor: an object without a token", "{cursor: {from: next, param: c}}", []string{list(1, 7, `,"next":{"of":{"x":"y"}}`)}, 0, "the value at `next` is neither text nor a number"},
		{"next url: under another name", "{next_url: {path: links.nxt, optional: true}}", []string{list(1, 50, `,"links":{"self":"?a","next":"?b"}`)}, 0, "the page has no `links.nxt`, but `links.next` seems to lead to another page: page: {next_url: links.next}"},

		{"cursor: of another case on a short page", "{cursor: {from: meta.endcursor, param: c, optional: true}}", []string{list(1, 7, `,"meta":{"endCursor":"x"}`)}, 0, "the page has no `meta.endcursor`, but it has `meta.endCursor`: a path has the letters of the name, large and small; correct it in `page`"},
		{"cursor: below a name of another case", "{cursor: {from: pageinfo.endCursor, param: c, optional: true}}", []string{list(1, 7, `,"pageInfo":{"endCursor":"x"}`)}, 0, "the page has no `pageinfo.endCursor`, but it has `pageInfo.endCursor`: a path has the letters of the name, large and small; correct it in `page`"},
		{"cursor: of another case, and empty", "{cursor: {from: endcursor, param: c, optional: true}}", []string{list(1, 7, `,"endCursor":null`)}, 7, ""},
		{"cursor: more of another case", "{cursor: {from: next, param: c, more: hasmore}}", []string{list(1, 7, `,"next":"x","hasMore":true`)}, 0, "the value at `hasmore` is neither true nor false; the page has `hasMore`"},
		{"delta: of another case", "{delta: {next: nextpagetoken, param: c, resume: nextSyncToken}}", []string{list(1, 7, `,"nextPageToken":"x"`)}, 0, "the page has neither `nextpagetoken`, which leads to the next page, nor `nextSyncToken`, with which the next walk begins; the page has `nextPageToken`"},
		{"number: a total of another case", "{number: {param: p, total_pages: totalpages}}", []string{list(1, 7, `,"totalPages":2`)}, 0, "there is no whole number at `totalpages`, where `page` looks for the total; the page has `totalPages`"},
		{"next url: absent", url, []string{list(1, 100, `,"nxt":"?b"`)}, 0, fmt.Sprintf(inURL, 100)},
		{"next url: null", url, []string{list(1, 100, `,"next":null`)}, 100, ""},
		{"next url: empty", url, []string{list(1, 100, `,"next":""`)}, 100, ""},
		{"next url: absent on a short page", url, []string{list(1, 7, "")}, 7, ""},
		{"next url: absent on a later page", url, []string{list(1, 50, `,"next":"?b"`), list(51, 100, "")}, 100, ""},
		{"next url: the long form", "{next_url: {path: next}}", []string{list(1, 50, `,"next":"?b"`), list(51, 100, "")}, 100, ""},
		{"next url: the long form, absent", "{next_url: {path: next}}", []string{list(1, 100, "")}, 0, fmt.Sprintf(inURL, 100)},
		{"next url: absent, at a path that YAML wants in quotes", `{next_url: '@odata\.nextLink'}`, []string{list(1, 100, "")}, 0, `the page has no ` + "`@odata\\.nextLink`" + `, but it looks full (100 records); if this API leaves it out on the last page: next_url: {path: '@odata\.nextLink', optional: true}`},
		{"next url: optional", "{next_url: {path: next, optional: true}}", []string{list(1, 100, "")}, 100, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			records, stop := walkAll(t, replay("", test.bodies...), file("records: items, page: "+test.page))
			ends(t, records, test.records, stop, test.detail)
		})
	}
}

func TestLinkOfAWrongRelation(t *testing.T) {
	const both = `</things?page=2>; rel="next", </things?page=9>; rel="last"`
	tests := []struct {
		rel, first, second string // the Link headers of two pages of ten records
		records            int
		detail             string
	}{
		{"nxt", both, "", 0, "the Link header has rel=next and no rel=nxt: correct `link_header`"},
		{"nxt", `</things?page=2>; rel="NEXT"`, "", 0, "the Link header has rel=next and no rel=nxt: correct `link_header`"},
		{"nxt", "", "", 10, ""},
		{"nxt", `</things?page=1>; rel="first"`, "", 10, ""},
		{"next", "", "", 10, ""}, // a single page, as GitHub writes it
		{"next", `</things?page=1>; rel="first"`, "", 10, ""},
		{"next", both, `</things>; rel="first", </things>; rel="prev"`, 20, ""},
		{"Next", both, "", 20, ""},
		// From the newest page backwards: the last one has next, and no prev.
		{"prev", `</things?page=8>; rel="prev"`, `</things?page=9>; rel="next"`, 20, ""},
	}
	for _, test := range tests {
		n := 0
		records, stop := walkAll(t, func(w http.ResponseWriter, r *http.Request) {
			link := []string{test.first, test.second}[n]
			n++
			replay(link, things(10*n+1, 10*n+10))(w, r)
		}, file("page: {link_header: "+test.rel+"}"))
		t.Run(test.rel+" of "+test.first, func(t *testing.T) {
			ends(t, records, test.records, stop, test.detail)
		})
	}
}

// TestMarkInNoRecord: with a field that no record has, each run would collect
// everything again, or nothing new ever, and say that all is well.
func TestMarkInNoRecord(t *testing.T) {
	const detail = "no record has `update_at`, the field of `since`; the records have: id"
	tests := []struct {
		name    string
		bodies  []string
		records int
		detail  string
	}{
		{"in none", []string{`{"items":[{"id":1,"updated_at":5},{"id":2}]}`}, 0, detail + ", updated_at"},
		{"in none of the second page", []string{`{"items":[],"next":1}`, `{"items":[{"id":1}]}`}, 0, detail},
		{"in one", []string{`{"items":[{"id":1},{"id":2,"update_at":5}]}`}, 2, ""},
		{"null", []string{`{"items":[{"id":1,"update_at":null}]}`}, 1, ""},
		{"no records", []string{`{"items":[]}`}, 0, ""},
		{"all in quarantine", []string{`{"items":[{"no":1},7]}`}, 0, ""},
		{"on the first page only", []string{`{"items":[{"id":1,"update_at":5},{"id":2,"update_at":6}],"next":1}`, `{"items":[{"id":3}]}`}, 3, ""},
	}
	for _, test := range tests {
		for _, order := range []string{"none", "asc"} {
			t.Run(test.name+", order "+order, func(t *testing.T) {
				src := file("records: items, page: {cursor: {from: next, param: c}}, since: {field: update_at, param: s, lookback: 1s, order: " + order + "}")
				records, stop := walkAll(t, replay("", test.bodies...), src)
				ends(t, records, test.records, stop, test.detail)
			})
		}
	}
}

// TestAnchoredPageIsNoFirstPage: an ordered walk asks for first pages again
// and again; that the cursor is where the file says was seen before.
func TestAnchoredPageIsNoFirstPage(t *testing.T) {
	marked := func(from, to int) string {
		var list []string
		for id := from; id <= to; id++ {
			list = append(list, fmt.Sprintf(`{"id":%d,"at":%d}`, id, id))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	var asked []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if r.URL.RawQuery == "" {
			fmt.Fprintf(w, `{"items":%s,"next":"x"}`, marked(1, 10))
			return
		}
		fmt.Fprintf(w, `{"items":%s}`, marked(10, 19))
	}
	src := file("records: items, page: {cursor: {from: next, param: c}}, since: {field: at, param: s, order: asc}")
	records, stop := walkAll(t, handler, src)
	ends(t, records, 20, stop, "")
	if got, want := strings.Join(asked, " "), " s=9"; got != want {
		t.Errorf("asked %q, want %q: no anchor was tried", got, want)
	}
}

package declarative_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/connectortest"
)

// TestThePlaceOfAPage stands where the file has ${page}, and is left out where
// there is none yet.
func TestThePlaceOfAPage(t *testing.T) {
	for _, test := range []struct {
		stream string
		place  func(r *http.Request) string
		want   []string // of the first two pages
	}{
		{
			`get: "/a/${page}/things", page: {cursor: {from: next}}`,
			func(r *http.Request) string {
				return strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/a/"), "things"), "t//")
			},
			[]string{"/a/things", "/a/t%2F%2F5%2F/things"},
		},
		{
			`get: "/things/${page}", page: {last_id: {field: id}}`,
			func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/things/") },
			[]string{"/things", "/things/5"},
		},
		{
			`get: "/things?x=1&after=${page}&y=2", page: {cursor: {from: next}}`,
			func(r *http.Request) string { return strings.TrimPrefix(r.URL.Query().Get("after"), "t//") },
			[]string{"/things?x=1&y=2", "/things?x=1&after=t%2F%2F5%2F&y=2"},
		},
		{
			`get: /things, query: {where: "id > ${page}"}, page: {last_id: {field: id}}`,
			func(r *http.Request) string { return strings.TrimPrefix(r.URL.Query().Get("where"), "id > ") },
			[]string{"/things", "/things?where=id%20%3E%205"},
		},
		{
			`get: /things, headers: {X-After: "${page}"}, page: {cursor: {from: next}}`,
			func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("X-After"), "t//") },
			[]string{"/things []", `/things [t//5/]`},
		},
		{
			`get: "/things/from/${page}", page: {offset: {limit: 5}}`,
			func(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/things/from/") },
			[]string{"/things/from/0", "/things/from/4"},
		},
		{
			`get: "/things/page-${page}", page: {number: {size: 5}}`,
			func(r *http.Request) string {
				n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/things/page-"))
				return strconv.Itoa((n - 1) * 5)
			},
			[]string{"/things/page-1", "/things/page-2"},
		},
	} {
		var asked []string
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			said := r.URL.RequestURI()
			if strings.Contains(test.stream, "X-After") {
				said += fmt.Sprint(" ", r.Header["X-After"])
			}
			asked = append(asked, said)
			n, _ := strconv.Atoi(strings.Trim(test.place(r), "/"))
			records, more := pages(n)
			next := "null"
			if more {
				next = fmt.Sprintf(`"t//%d/"`, n+5)
			}
			fmt.Fprintf(w, `{"items":%s,"next":%s}`, records, next)
		})
		c := open(t, server, "connector: test\nprovider: {base_url: \"https://api.test\"}\nstreams:\n  things: {"+test.stream+", key: id, records: items}\n")
		connectortest.Test(t, c, server.Client())
		asked = nil
		records := 0
		for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
			if err != nil {
				t.Fatalf("%s: %v", test.stream, err)
			}
			records += len(slice.Records)
		}
		if records != total || !slices.Equal(asked[:2], test.want) {
			t.Errorf("%s: %d records, want %d; asked %q, want %q", test.stream, records, total, asked[:2], test.want)
		}
	}
}

// TestAPlaceStaysInItsSegment: what a provider sends as a cursor does not climb
// out of the path, and a header has no line break.
func TestAPlaceStaysInItsSegment(t *testing.T) {
	for _, test := range []struct{ stream, cursor string }{
		{`get: "/things/${page}"`, "../admin"},
		{`get: "/things/${page}"`, ".."},
		{`get: "/things/${page}"`, "a/./b"},
		{`get: /things, headers: {X-After: "${page}"}`, "a\\r\\nX-Evil: b"},
	} {
		c := open(t, &httptest.Server{}, "connector: test\nprovider: {base_url: \"https://api.test\"}\nstreams:\n  things: {"+test.stream+", key: id, records: items, page: {cursor: {from: next}}}\n")
		asked := 0
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			fmt.Fprintf(w, `{"items":[{"id":%d}],"next":"%s"}`, asked, test.cursor)
		})
		var last error
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: direct{server}}, things0, collection.Cursor{}) {
			last = err
		}
		if stop, ok := errors.AsType[*collection.Stop](last); !ok || stop.Reason != collection.BadPage || asked != 1 {
			t.Errorf("%s with %q: %v after %d requests, want a stop for bad_page after one", test.stream, test.cursor, last, asked)
		}
	}
}

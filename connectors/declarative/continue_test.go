package declarative_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/connectortest"
)

const wikiFile = `
connector: wiki
provider: {base_url: "https://wiki.test", limits: {body: 4KiB}}
streams:
  things: {get: /api?continue=, query: {limit: 2}, records: query.pages, key: id, page: {continue: {from: continue, complete: done}}}
`

// answers serves one answer after the other, by the parameters that ask for it.
func answers(t *testing.T, byQuery map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, ok := byQuery[r.URL.RawQuery]
		if !ok {
			t.Errorf("unexpected request for ?%s", r.URL.RawQuery)
		}
		fmt.Fprint(w, body)
	}
}

// TestContinueMergesTheParts of a page by their key, and stores them together.
func TestContinueMergesTheParts(t *testing.T) {
	server := serve(t, answers(t, map[string]string{
		"continue=&limit=2":                     `{"continue": {"continue": "||b", "p": "1|é"}, "query": {"pages": [{"id": 1, "a": [1], "o": {"x": 1.0}}, {"id": 2, "a": []}]}}`,
		"limit=2&continue=%7C%7Cb&p=1%7C%C3%A9": `{"continue": {"q": 7, "continue": "||c"}, "query": {"pages": [{"id": 1, "a": [2, 3], "o": {"y": "é"}}, {"id": 2, "a": [9]}]}}`,
		"limit=2&continue=%7C%7Cc&q=7":          `{"done": "", "continue": {"gap": "B", "continue": "gap||"}, "query": {"pages": [{"id": 2, "title": "two"}]}}`,
		"limit=2&continue=gap%7C%7C&gap=B":      `{"done": true, "limits": {"pages": 2}}`, // a wiki leaves query out if there is nothing
	}))
	c := open(t, server, wikiFile)
	connectortest.Test(t, c, server.Client())
	var got []string
	for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, slice.From.Token)
		for _, r := range slice.Records {
			got = append(got, string(r.Data))
		}
	}
	want := `
{"id":1,"a":[1,2, 3],"o":{"x":1.0,"y":"é"}}
{"id":2,"a":[9],"title":"two"}
{"continue":"gap||","gap":"B"}`
	if strings.Join(got, "\n") != want {
		t.Errorf("the slices have\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestContinueThatLeadsNowhere is a bad page at the cursor of its first part.
func TestContinueThatLeadsNowhere(t *testing.T) {
	part := func(n int, next string) string {
		return fmt.Sprintf(`{%s"query": {"pages": [{"id": 1, "n%d": %d}]}}`, next, n, n)
	}
	for name, test := range map[string]struct {
		answer func(n int) string
		want   string
		reason collection.Reason
	}{
		"never complete":    {func(n int) string { return part(n, "") }, "neither `continue`", collection.BadPage},
		"a circle of parts": {func(n int) string { return part(n, fmt.Sprintf(`"continue": {"p": %d},`, n%3)) }, "the same cursor came twice among the parts", collection.BadPage},
		"another order": {func(n int) string {
			return part(n, []string{`"continue": {"p": 1, "q": 2},`, `"continue": {"q": 2, "p": 1},`}[n%2])
		}, "the same cursor came twice among the parts", collection.BadPage},
		"nothing new": {func(n int) string { return part(0, fmt.Sprintf(`"continue": {"p": %d},`, n)) }, "parts of one page in a row have nothing new", collection.BadPage},
		"too much together": {func(n int) string {
			return part(n, fmt.Sprintf(`"continue": {"p": "%d%s"},`, n, strings.Repeat("x", 500)))
		}, "together larger", collection.TooLarge},
		"no object":           {func(n int) string { return part(n, `"continue": "x",`) }, "is not an object", collection.BadPage},
		"no text":             {func(n int) string { return part(n, `"continue": {"p": [1]},`) }, "neither text nor a number", collection.BadPage},
		"a member twice":      {func(n int) string { return part(n, `"continue": {"p": 1, "p": 2},`) }, "a member twice", collection.BadPage},
		"records elsewhere":   {func(n int) string { return `{"done": true, "queries": {"pages": [{"id": 1}]}}` }, "the page has no `query.pages`", collection.BadPage},
		"a circle of batches": {func(n int) string { return part(n, fmt.Sprintf(`"done": true, "continue": {"p": %d},`, n%3)) }, "the same cursor came twice", collection.BadPage},
	} {
		n := 0
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, test.answer(n))
			n++
		})
		var last error
		for _, err := range open(t, server, wikiFile).Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
			if last = err; n > 50 {
				break
			}
		}
		if stop, ok := errors.AsType[*collection.Stop](last); !ok || stop.Reason != test.reason || !strings.Contains(stop.Detail, test.want) {
			t.Errorf("%s: after %d answers the error is %v, want %s that says %q", name, n, last, test.reason, test.want)
		}
	}
}

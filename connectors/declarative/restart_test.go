package declarative_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors"
)

// TestRestart: an edit makes a cursor meaningless, its mark too, or neither.
func TestRestart(t *testing.T) {
	const file = `
connector: test
provider: {base_url: "http://api.test"}
streams:
  things:
    get: /things
    query: {state: open}
    headers: {X-A: a}
    records: items
    key: id
    page: {number: {param: page, size_param: per, size: 2}}
    since: {field: at, param: since, start: "1970-01-01T00:00:00Z", order: none, lookback: 1s}
`
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" {
			fmt.Fprint(w, `{"items": [{"id": 1, "at": "1970-01-01T00:00:01Z"}, {"id": 2, "at": "1970-01-01T00:00:02Z"}]}`)
			return
		}
		fmt.Fprint(w, `{"items": []}`)
	})
	at := collection.Place{Stream: "things"}
	var walk []collection.Cursor
	for slice, err := range open(t, server, file).Slices(t.Context(), server.Client(), at, collection.Cursor{Since: "1970-01-01T00:00:00Z"}) {
		if err != nil {
			t.Fatal(err)
		}
		walk = append(walk, slice.Next)
	}
	middle, end := walk[0], walk[len(walk)-1]
	if middle.Token == "" || !end.Done || end.Since == "" {
		t.Fatalf("the walk has the cursors %+v", walk)
	}
	for _, test := range []struct{ from, to, lost string }{
		{"", "", ""},
		{"X-A: a", "X-A: b", ""},
		{"lookback: 1s", "lookback: 2s", ""},
		{"param: since", "param: after", "token"},
		{"size: 2", "size: 3", "token"},
		{"number: {param: page, size_param: per, size: 2}", "cursor: {from: next, param: page}", "token"},
		{"number: {param: page, size_param: per, size: 2}", "offset: {param: page, limit_param: per, limit: 2}", "token"},
		{"records: items", "records: archived", "all"},
		{"state: open", "state: all", "all"},
		{"get: /things", "get: /others", "all"},
		{"key: id", "key: at", "all"},
		{"field: at", "field: seen", "all"},
		{"start: \"1970", "start: \"1969", "all"},
	} {
		c := open(t, server, strings.Replace(file, test.from, test.to, 1)).(connectors.Restarter)
		want := map[string][2]collection.Cursor{
			"": {middle, end}, "token": {{Since: middle.Since}, end}, "all": {},
		}[test.lost]
		for i, from := range []collection.Cursor{middle, end} {
			if got, lost := c.Restart(at, from); got != want[i] || lost != (want[i] != from) {
				t.Errorf("%s → %s: Restart(%+v) = %+v, %t, want %+v", test.from, test.to, from, got, lost, want[i])
			}
		}
		old := middle
		old.Meaning = "" // of a version that noted none
		if _, lost := c.Restart(at, old); lost {
			t.Errorf("%s → %s: a cursor without a meaning is lost", test.from, test.to)
		}
	}
}

package declarative_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
)

// TestADetailOfOneObjectHasOnePage, whatever the defaults say of lists; one that
// is a list goes on as they say.
func TestADetailOfOneObjectHasOnePage(t *testing.T) {
	asked := map[string]int{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch page := number(r, "page", 1); {
		case r.URL.Path == "/things/1":
			w.Header().Set("Link", `<?page=2>; rel="next"`)
			fmt.Fprint(w, `{"id": 1}`)
		case page < 3:
			fmt.Fprintf(w, `[{"id": "%d-a"}, {"id": "%d-b"}]`, page, page)
		default:
			fmt.Fprint(w, `[]`)
		}
	})
	for _, page := range []string{"{number: {param: page}}", "{link_header: next}"} {
		clear(asked)
		c := open(t, server, `
connector: test
provider: {base_url: "http://api.test"}
defaults: {key: id, page: `+page+`, records: nothing}
streams:
  things: {get: /things, records: null}
  one: {get: "/things/${id}", each: {id: things.id}, role: detail, records: null}
  many: {get: "/lists/${id}", each: {id: things.id}, role: detail, records: null}
`)
		for _, stream := range []string{"one", "many"} {
			at := collection.Place{Stream: stream, Partition: `{"id":1}`}
			for _, err := range c.Slices(t.Context(), server.Client(), at, collection.Cursor{}) {
				if err != nil {
					t.Fatalf("%s: %v", stream, err)
				}
			}
		}
		want := map[bool]int{true: 3, false: 1}[strings.Contains(page, "number")]
		if asked["/things/1"] != 1 || asked["/lists/1"] != want {
			t.Errorf("%s: asked %v, want 1 for one object and %d for a list", page, asked, want)
		}
	}
}

// TestAListOfTextIsNoListOfRecords: no key can be found in it.
func TestAListOfTextIsNoListOfRecords(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"tags": ["a", "b"]}`) })
	c := open(t, server, `
connector: test
provider: {base_url: "http://api.test"}
streams:
  tags: {get: /tags, records: tags, key: id, page: {none: true}}
`)
	for _, err := range c.Slices(t.Context(), server.Client(), collection.Place{Stream: "tags"}, collection.Cursor{}) {
		stop, ok := errors.AsType[*collection.Stop](err)
		if !ok || stop.Reason != collection.BadPage || !strings.Contains(stop.Detail, "`tags` is a list of text") {
			t.Errorf("got %v, want to be told that the list is one of text", err)
		}
	}
}

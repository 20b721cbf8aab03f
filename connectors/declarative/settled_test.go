package declarative_test

import (
	"fmt"
	"net/http"
	"testing"

	"collect/collection"
)

// TestADetailOfTheSameSecond: a parent may change again in the second, or on the
// day, in which its detail was fetched, and its mark stays the same.
func TestADetailOfTheSameSecond(t *testing.T) {
	for _, test := range []struct {
		version, date string
		settled       bool
	}{
		{"2026-01-02T10:00:05Z", "Fri, 02 Jan 2026 10:00:05 GMT", false},
		{"2026-01-02T10:00:05Z", "Fri, 02 Jan 2026 10:00:30 GMT", true},
		{"2026-01-02T12:00:05+02:00", "Fri, 02 Jan 2026 10:00:05 GMT", false},
		{"2026-01-02", "Fri, 02 Jan 2026 23:00:00 GMT", false},
		{"2026-01-02", "Sat, 03 Jan 2026 00:01:00 GMT", true},
		{"1767348005", "Fri, 02 Jan 2026 10:00:05 GMT", false},
		{"1767348005", "Fri, 02 Jan 2026 10:00:30 GMT", true},
		{"2036-01-02T10:00:05Z", "Fri, 02 Jan 2026 10:00:05 GMT", true}, // no time of this clock
		{"41", "Fri, 02 Jan 2026 10:00:05 GMT", true},
		{"v 1", "Fri, 02 Jan 2026 10:00:05 GMT", true},
		{"2026-01-02T10:00:05Z", "", true},
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = nil
			if test.date != "" {
				w.Header().Set("Date", test.date)
			}
			fmt.Fprint(w, `{"id": 1}`)
		})
		c := open(t, server, `
connector: test
provider: {base_url: "http://api.test"}
streams:
  things: {get: /things, key: id, page: {none: true}}
  one: {get: "/things/${id}", each: {id: things.id, changed: things.at}, role: detail, key: id}
`)
		at := collection.Place{Stream: "one", Partition: `{"id":1}`}
		for slice, err := range c.Slices(t.Context(), server.Client(), at, collection.Cursor{Version: test.version}) {
			if err != nil {
				t.Fatal(err)
			}
			if got := slice.Next.Version == test.version; got != test.settled || !slice.Next.Done {
				t.Errorf("%s fetched at %s: next %+v, want it settled: %t", test.version, test.date, slice.Next, test.settled)
			}
		}
	}
}

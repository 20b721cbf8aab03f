package declarative_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
)

// TestDeleted: an element that says that its record was deleted is a tombstone, also
// where what says so is not stored.
func TestDeleted(t *testing.T) {
	answer := `{"items":[{"id":1,"title":"a"},{"id":2,"@removed":{"reason":"deleted"}},{"id":3,"meta":{"state":"gone"}},{"id":4,"meta":7},{"id":1,"@removed":null},7]}`
	for _, test := range []struct{ more, want string }{
		{"", "2 3 4 1 / 2"},
		{`deleted: 'record["@removed"] != nil'`, "-2 3 4 1 / 2"},
		{`deleted: 'record["@removed"] != nil', fields: [id]`, "-2 3 4 1 / 1"},
		{`deleted: 'record["@removed"] != nil', drop: ["@removed"]`, "-2 3 4 1 / 2"},
		{`deleted: 'record.meta.state == "gone"'`, "2 -3 4 1 / 2"}, // where it cannot be computed, it does not hold
		{`deletes: sweep`, "2 3 4 1 / 2"},
	} {
		more := test.more
		if more != "" {
			more = ", " + more
		}
		c := open(t, serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }), fmt.Sprintf(`
connector: acme
provider: {base_url: "https://acme.test"}
streams:
  things: {get: /things, key: id, records: items, page: {none: true}%s}
`, more))
		if got, want := c.Streams()[0].Sweeps, strings.Contains(test.more, "sweep"); got != want {
			t.Errorf("%s: Sweeps = %v", test.more, got)
		}
		for slice, err := range c.Slices(t.Context(), http.DefaultClient, collection.Place{Stream: "things", Lane: collection.Incremental}, collection.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range slice.Records {
				key := r.Key
				if r.Deleted {
					key = "-" + key
				}
				got = append(got, key)
			}
			if text := fmt.Sprintf("%s / %d", strings.Join(got, " "), len(slice.Rejected)); text != test.want {
				t.Errorf("%s: %s, want %s", test.more, text, test.want)
			}
		}
	}
}

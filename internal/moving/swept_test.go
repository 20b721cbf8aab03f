package moving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDeletedBelowAParent: the list of a parent is asked for where the parent changed. If
// it lacks a record that a second walk has to lack as well, the next run asks for it again.
func TestDeletedBelowAParent(t *testing.T) {
	for _, page := range []string{"{cursor: {from: next, param: after}}", "{number: {param: page, size_param: size, size: 2}}"} {
		children, version, lists := 5, 1, 0
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/parents" {
				fmt.Fprintf(w, `[{"id":1,"v":%d}]`, version)
				return
			}
			after := 0
			q := r.URL.Query()
			if n, err := fmt.Sscanf(q.Get("page"), "%d", &after); err == nil && n == 1 {
				after = 2 * (after - 1)
			}
			fmt.Sscanf(q.Get("after"), "k%d", &after)
			if after == 0 {
				lists++
			}
			var list []string
			for id := after; id < min(after+2, children); id++ {
				list = append(list, fmt.Sprintf(`{"id":%d}`, id+1))
			}
			next := "null"
			if after+2 < children {
				next = fmt.Sprintf(`"k%d"`, after+2)
			}
			fmt.Fprintf(w, `{"list":[%s],"next":%s}`, strings.Join(list, ","), next)
		}))
		defer web.Close()
		c, db := openFile(t, fmt.Sprintf(`
connector: moving
provider: {base_url: %q, pace: off}
streams:
  parents: {get: /parents, key: id, page: {none: true}}
  items: {get: "/parents/${parent}/items", records: list, key: id, page: %s, each: {parent: parents.id, changed: parents.v}, deletes: sweep}
`, web.URL, page))
		for n, want := range []struct {
			children, version, lists int
			deleted                  int64
		}{
			{5, 1, 1, 0},
			{5, 1, 0, 0},
			{4, 2, 1, 0}, // lacks one
			{4, 2, 1, 1},
			{4, 2, 0, 1},
			{3, 3, 1, 1}, // lacks another one,
			{4, 3, 1, 1}, // which is there again
			{4, 3, 0, 1},
		} {
			children, version, lists = want.children, want.version, 0
			run(t, db, c, fmt.Sprint("run-", n))
			states, err := db.Streams(t.Context(), "moving")
			if err != nil {
				t.Fatal(err)
			}
			deleted := int64(0)
			for _, s := range states {
				deleted += s.Deleted
			}
			if lists != want.lists || deleted != want.deleted {
				t.Errorf("%s, run %d: the list was walked %d times and %d records are marked as deleted, want %d and %d", page, n, lists, deleted, want.lists, want.deleted)
			}
		}
	}
}

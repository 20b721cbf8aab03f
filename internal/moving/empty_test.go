package moving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
)

// TestEmptyForADay: a list that is empty is asked for once, and a person hears on the first day that most of the stream is
// gone, whether the file says where the total is or not.
func TestEmptyForADay(t *testing.T) {
	for _, page := range []string{
		"{offset: {param: offset, limit_param: limit, limit: 10}}",
		"{offset: {param: offset, limit_param: limit, limit: 10, total: total}}",
		"{offset: {param: offset, limit_param: limit, limit: 10, total: total, apart: true}}",
		"{offset: {param: offset, total: total}}",
	} {
		empty, asked := false, 0
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
			n := 24
			if empty {
				n = 0
			}
			var items []string
			for id := from; id < min(from+10, n); id++ {
				items = append(items, fmt.Sprintf(`{"id":%d}`, id))
			}
			fmt.Fprintf(w, `{"items":[%s],"total":%d}`, strings.Join(items, ","), n)
		}))
		defer web.Close()
		c, db := openFile(t, fmt.Sprintf("connector: moving\nprovider: {base_url: %q, pace: off}\nstreams:\n  items: {get: /items, records: items, key: id, page: %s, deletes: sweep}\n", web.URL, page))
		for n, want := range []struct {
			empty   bool
			outcome collection.Outcome
			asked   int // where it is empty; the first time the list is walked once more
		}{{outcome: collection.Complete}, {outcome: collection.NothingNew}, {true, collection.Blocked, 2}, {true, collection.Blocked, 1}, {outcome: collection.NothingNew}} {
			empty, asked = want.empty, 0
			if outcome, _ := run(t, db, c, fmt.Sprint("run-", n)); outcome != want.outcome || empty && asked != want.asked {
				t.Errorf("%s: run %d is %s after %d requests, want %s after %d", page, n, outcome, asked, want.outcome, want.asked)
			}
		}
		if states, err := db.Streams(t.Context(), "moving"); err != nil || states[0].Deleted != 0 {
			t.Errorf("%s: %d records are marked as deleted, want none: %v", page, states[0].Deleted, err)
		}
	}
}

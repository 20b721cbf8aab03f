package moving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/collection"
)

// TestAWalkIsCountedWhole: a walk that asks from the mark of each page, or window by window, is told of as one.
func TestAWalkIsCountedWhole(t *testing.T) {
	for name, since := range map[string]string{
		"from the mark of each page": "since: {field: at, param: from, order: asc, format: unix}, page: {cursor: {from: next, param: cursor}}",
		"by windows":                 fmt.Sprintf("query: {from: \"${window.from}\", to: \"${window.to}\"}, windows: {from: %s, step: 12h, lookback: 1d}, page: {cursor: {from: next, param: cursor}}", time.Now().AddDate(0, 0, -2).Format(time.DateOnly)),
	} {
		t.Run(name, func(t *testing.T) {
			asked := int64(0)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				from, _ := strconv.Atoi(r.URL.Query().Get("from"))
				if r.URL.Query().Has("to") {
					from = 25 // each window has one record
				}
				var list []string
				for at := max(from, 1); at <= 25 && len(list) < 5; at++ {
					list = append(list, fmt.Sprintf(`{"id":%d,"at":%d}`, at, at))
				}
				next := ""
				if len(list) == 5 {
					next = fmt.Sprint("behind ", from)
				}
				fmt.Fprintf(w, `{"items":[%s],"next":%q}`, strings.Join(list, ","), next)
			}))
			defer web.Close()
			c, db := openFile(t, fmt.Sprintf("connector: moving\nprovider: {base_url: %q, pace: off}\nstreams:\n  items: {get: /items, key: id, records: items, %s}\n", web.URL, since))
			if outcome, _ := run(t, db, c, "run-1"); outcome != collection.Complete {
				gaps, err := db.Gaps(t.Context(), "moving")
				t.Fatalf("the run is %s: %+v, %v", outcome, gaps, err)
			}
			if got := evidenceOf(t, db).Walked(); got.Pages != asked || got.Records < asked || asked < 5 {
				t.Errorf("the walk has %+v after %d requests, want a page and records for each", got, asked)
			}
		})
	}
}

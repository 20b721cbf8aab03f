package moving_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
)

// TestListThatChangesInEachRun: the tries of a list that changes in each run are counted, and the eighth in a row
// leaves it to a person. When the list is sound, the next run has all of it by itself.
func TestListThatChangesInEachRun(t *testing.T) {
	for name, page := range map[string]string{
		"by number":     "number: {param: page}",
		"by cursor":     "cursor: {from: next, param: page, optional: true}",
		"pages by none": "number: {param: page, total_pages: pages}",
	} {
		t.Run(name, func(t *testing.T) {
			sound := false
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(cmp.Or(r.URL.Query().Get("page"), "1"))
				total, pages, last, next := 40, 4, 25, `null`
				if page > 1 && !sound {
					total, pages = 25, 2
				}
				if sound {
					last = 40
				}
				var items []string
				for id := (page-1)*10 + 1; id <= min(page*10, last); id++ {
					items = append(items, fmt.Sprintf(`{"id":%d}`, id))
				}
				if page*10 < last {
					next = strconv.Itoa(page + 1)
				}
				told := fmt.Sprintf(`"total":%d`, total)
				if strings.Contains(name, "pages") {
					told = fmt.Sprintf(`"pages":%d`, pages)
				}
				fmt.Fprintf(w, `{"items":[%s],%s,"next":%s}`, strings.Join(items, ","), told, next)
			}))
			defer web.Close()
			c, db := openFile(t, "connector: moving\nprovider: {base_url: \""+web.URL+"\", pace: off}\nstreams:\n  items:\n    get: /items\n    records: items\n    key: id\n    page: {"+page+"}\n")
			for n := 1; n <= 10; n++ {
				outcome, _ := run(t, db, c, fmt.Sprint("run-", n))
				gaps, err := db.Gaps(t.Context(), "moving")
				if err != nil || len(gaps) != 1 {
					t.Fatalf("after %d runs the gaps are %+v, %v, want one", n, gaps, err)
				}
				want, reason := collection.Deferred, collection.ListChanged
				if n >= collection.MaxGapAttempts {
					want, reason = collection.Blocked, collection.BadPage
				}
				if outcome != want || gaps[0].Reason != reason || reason == collection.ListChanged && gaps[0].Attempts != n {
					t.Errorf("run %d is %s and leaves a gap for %s, tried %d times; want %s, %s, %d times", n, outcome, gaps[0].Reason, gaps[0].Attempts, want, reason, n)
				}
				if say := fmt.Sprintf("%d runs in a row", n); reason == collection.BadPage && !strings.Contains(gaps[0].Detail, say) {
					t.Errorf("the gap of run %d says %q, and not %q", n, gaps[0].Detail, say)
				}
				if advised := strings.Contains(gaps[0].Detail, "`total: ignore`"); advised != (reason == collection.BadPage && name != "pages by none") {
					t.Errorf("run %d, where a total of records is told or not: %q", n, gaps[0].Detail)
				}
			}
			sound = true
			if outcome, _ := run(t, db, c, "run-sound"); outcome != collection.Complete {
				t.Errorf("when the list is sound, the run is %s, want %s", outcome, collection.Complete)
			}
			if gaps, err := db.Gaps(t.Context(), "moving"); err != nil || len(gaps) != 0 {
				t.Errorf("then the gaps are %+v, %v, want none", gaps, err)
			}
			if n := len(contents(t, db)); n != 40 {
				t.Errorf("then %d records are stored, want 40", n)
			}
		})
	}
}

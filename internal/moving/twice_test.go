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

// TestAPageTwice: a page that comes in the place of another one leaves that one out. The walk says so, and what it lacks
// is not marked as deleted, however often it does. The same goes for records whose bytes are never the same.
func TestAPageTwice(t *testing.T) {
	for name, page := range map[string]string{
		"by cursor":     "{cursor: {from: next, param: after}}",
		"by next_url":   "{next_url: more}",
		"by Link":       "{link_header: next}",
		"counted views": "{cursor: {from: next, param: after}}",
	} {
		for _, twice := range []int{10, 30} { // the page behind the first one, or the last one, which is as long
			t.Run(fmt.Sprintf("%s, from %d", name, twice), func(t *testing.T) {
				broken, asked := false, 0
				web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked++
					after, _ := strconv.Atoi(r.URL.Query().Get("after"))
					next := after + 10
					if broken && after == twice {
						after -= 10
					}
					var items []string
					for id := after + 1; id <= after+10; id++ {
						views := 0
						if name == "counted views" {
							views = asked
						}
						items = append(items, fmt.Sprintf(`{"id":%d,"v":%d}`, id, views))
					}
					body := fmt.Sprintf(`{"items":[%s]`, strings.Join(items, ","))
					if next < 40 {
						body += fmt.Sprintf(`,"next":%d,"more":"/items?after=%d"`, next, next)
						w.Header().Set("Link", fmt.Sprintf(`</items?after=%d>; rel="next"`, next))
					} else {
						body += `,"next":null,"more":null`
					}
					fmt.Fprint(w, body+"}")
				}))
				defer web.Close()
				c, db := openFile(t, fmt.Sprintf("connector: moving\nprovider: {base_url: %q, pace: off}\nstreams:\n  items: {get: /items, records: items, key: id, page: %s, deletes: sweep}\n", web.URL, page))
				for n, is := range []bool{false, false, true, true, true, false} {
					broken = is
					run(t, db, c, fmt.Sprint("run-", n))
					var warned []collection.WarningCode
					for _, w := range evidenceOf(t, db).Warnings() {
						warned = append(warned, w.Code)
					}
					want := "[]"
					if broken {
						want = "[W0620]"
						if name == "counted views" {
							want = "[W0611 W0620]"
						}
					}
					if got := fmt.Sprint(warned); got != want {
						t.Errorf("run %d warns of %s, want %s", n, got, want)
					}
					states, err := db.Streams(t.Context(), "moving")
					if err != nil || states[0].Deleted != 0 {
						t.Errorf("after run %d %d records are marked as deleted, want none: %v", n, states[0].Deleted, err)
					}
				}
			})
		}
	}
}

// TestAPageThatRepeatsAFew: records that were made in front of others, and pages that overlap, repeat records and
// leave none out.
func TestAPageThatRepeatsAFew(t *testing.T) {
	for name, list := range map[string]func(after, asked int) (from, to, next int){
		"made in front":        func(after, asked int) (from, to, next int) { return after - 3*asked, after + 10 - 3*asked, after + 10 }, // three before each page
		"pages that overlap":   func(after, _ int) (from, to, next int) { return max(0, after-2), after + 10, after + 10 },
		"the last page is had": func(after, _ int) (from, to, next int) { return max(0, after-2), min(after+10, 30), after + 10 },
		"the end comes early": func(after, asked int) (from, to, next int) {
			return min(after, 38-asked), min(after+10, 38-asked), after + 10
		},
		"as many as are asked": func(after, _ int) (from, to, next int) { return after, after + 10, after + 10 },
		"made while it stopped": func(after, asked int) (from, to, next int) {
			return after - 10*(asked/2), after + 10 - 10*(asked/2), after + 10
		}, // a run reads two pages
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				after, _ := strconv.Atoi(r.URL.Query().Get("after"))
				from, to, next := list(after, asked)
				asked++
				var items []string
				for id := from; id < to; id++ {
					items = append(items, fmt.Sprintf(`{"id":%d}`, id))
				}
				token := "null"
				if next < 40 {
					token = fmt.Sprint(next)
				}
				fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(items, ","), token)
			}))
			defer web.Close()
			c, db := openFile(t, fmt.Sprintf("connector: moving\nprovider: {base_url: %q, pace: off}\nstreams:\n  items: {get: /items, records: items, key: id, page: {cursor: {from: next, param: after}}}\n", web.URL))
			budget := int64(0)
			if name == "made while it stopped" {
				budget = 2
			}
			outcome := collection.Deferred
			for n := 0; n < 3 && outcome == collection.Deferred; n++ {
				outcome, _ = runWithin(t, db, c, fmt.Sprint("run-", n), budget)
			}
			if e := evidenceOf(t, db); len(e.Warnings()) != 0 || e.End == "" {
				t.Errorf("the run is %s and warns of %v, want an end and no warning: %+v", outcome, e.Warnings(), e)
			}
		})
	}
}

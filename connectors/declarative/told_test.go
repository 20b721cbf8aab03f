package declarative_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors"
)

// TestTotalsThatAreTold: a total counts in every way of paging, wherever it is
// told; and a number that can only count the page is none.
func TestTotalsThatAreTold(t *testing.T) {
	const items = `"items":[{"id":1},{"id":2},{"id":3}]`
	tests := []struct {
		stream, body string
		header       []string
		total        int64
		by           string
	}{
		{"page: {link_header: next}", `[{"id":1}]`, []string{"X-WP-Total", "2401"}, 2401, "the header X-WP-Total"},
		{"page: {link_header: next}", `[{"id":1}]`, []string{"x-total-count", "9"}, 9, "the header X-Total-Count"},
		{"page: {link_header: next}", `[{"id":1}]`, []string{"Content-Range", "items 0-0/9"}, 9, "the header Content-Range"},
		{"page: {link_header: next}", `[{"id":1}]`, []string{"Content-Range", "items 0-0/*"}, 0, ""},
		{"page: {link_header: next}", `[{"id":1}]`, []string{"X-Total-Count", "-1"}, 0, ""},
		{"page: {cursor: {from: next, param: c}}, records: items", `{` + items + `,"next":null,"total_count":9}`, nil, 9, "`total_count`"},
		{"page: {cursor: {from: next, param: c}}, records: items", `{` + items + `,"next":null,"meta":{"total":9}}`, nil, 9, "`meta.total`"},
		{"page: {cursor: {from: next, param: c}}, records: items", `{` + items + `,"next":null,"count":3}`, nil, 0, ""},
		{"page: {cursor: {from: next, param: c}}, records: items", `{` + items + `,"next":null,"total":"9"}`, nil, 0, ""},
		{"page: {cursor: {from: next, param: c}}, records: items, total: n.all", `{` + items + `,"next":null,"total":7,"n":{"all":9}}`, nil, 9, "`n.all`"},
		{"page: {cursor: {from: next, param: c}}, records: items, total: ignore", `{` + items + `,"next":null,"total":9}`, nil, 0, ""},
		{"page: {number: {param: p, total_pages: n}}, records: items", `{` + items + `,"n":4}`, nil, 4, "`n`"},
		{"page: {number: {param: p, total_pages: n}}, records: items", `{` + items + `,"n":4,"total":9}`, nil, 9, "`total`"},
		{"page: {number: {param: p, total_pages: total}}, records: items", `{` + items + `,"total":40}`, nil, 40, "`total`"},
		{"page: {number: {param: p, total_pages: {header: x-pages}}}", `[{"id":1}]`, []string{"X-Pages", "4", "X-WP-Total", "35"}, 35, "the header X-WP-Total"},
		{"page: {number: {param: p, total_pages: n}}, records: items, total: all", `{` + items + `,"n":4,"all":9}`, nil, 9, "`all`"},
		{"page: {offset: {param: o, total: n}}, records: items", `{` + items + `,"n":4}`, nil, 4, "`n`"},
		{"page: {number: {param: p, total_pages: {header: x-pages}}}", `[{"id":1}]`, []string{"X-Pages", "4"}, 4, "`x-pages`"},
		{"page: {offset: {param: o, total: {header: X-All}}}", `[{"id":1}]`, []string{"X-All", "4"}, 4, "`X-All`"},
		{"page: {link_header: next}, total: {header: X-All}", `[{"id":1}]`, []string{"X-All", "4", "X-Total", "9"}, 4, "`X-All`"},
		{"page: {link_header: next}", `[{"id":1}]`, []string{"X-WP-TotalPages", "7"}, 7, "the header X-WP-TotalPages"},
		{"page: {link_header: next}", `[{"id":1}]`, []string{"X-Total-Pages", "7", "X-Total", "9"}, 9, "the header X-Total"},
		{"page: {link_header: next}, records: items", `{` + items + `,"total":9}`, []string{"X-Total-Pages", "7"}, 9, "`total`"},
		{"page: {link_header: next}, records: items", `{` + items + `,"count":3}`, []string{"X-Total-Pages", "7"}, 7, "the header X-Total-Pages"},
		{"page: {link_header: next}, records: items, total: ignore", `{` + items + `}`, []string{"X-Total-Pages", "7"}, 0, ""},
	}
	for _, test := range tests {
		slice, err := first(t, answer(200, test.body, test.header...), test.stream)
		if err != nil || slice.Told.Total != test.total || slice.Told.By != test.by {
			t.Errorf("%s, %v: told %d by %q, %v; want %d by %q", test.stream, test.header, slice.Told.Total, slice.Told.By, err, test.total, test.by)
		}
	}
}

// TestWhatTotalPagesNamesCountsPages, whatever it is called.
func TestWhatTotalPagesNamesCountsPages(t *testing.T) {
	const items = `"items":[{"id":1},{"id":2}]`
	for at, serve := range map[string]http.HandlerFunc{
		"total":             answer(200, "{"+items+`,"total":40}`),
		"{header: X-Total}": answer(200, "{"+items+"}", "X-Total", "40"),
	} {
		slice, err := first(t, serve, "page: {number: {param: p, total_pages: "+at+"}}, records: items")
		if err != nil || slice.Told.Total != 40 || !slice.Told.Pages {
			t.Errorf("total_pages: %s: told %+v, %v; want 40 pages", at, slice.Told, err)
		}
	}
}

// TestAPageThatSaysMoreIsNotTheLastOne, whatever the file looks at.
func TestAPageThatSaysMoreIsNotTheLastOne(t *testing.T) {
	for _, page := range []string{"{last_id: {param: after, field: id, more: truncated}}", "{cursor: {from: next, param: c, more: truncated}}", "{cursor: {from: other, param: c, optional: true}}", "{none: true}"} {
		for body, want := range map[string]bool{`"truncated":false,"has_more":true`: true, `"truncated":false,"has_more":false`: false, `"truncated":false,"meta":{"hasMore":true}`: true} {
			_, err := first(t, answer(200, `{"items":[{"id":1}],`+body+`}`), "records: items, page: "+page)
			if (err != nil) != want {
				t.Errorf("%s with %s: %v", page, body, err)
			}
		}
	}
}

// TestShortPagesAreLearned: the page behind a short one is asked for until three
// walks showed that it is empty, and for good after one in which it was not.
func TestShortPagesAreLearned(t *testing.T) {
	hides, asked := false, 0
	serve := func(w http.ResponseWriter, r *http.Request) {
		asked++
		offset, last := number(r, "offset", 0), 7
		if hides && offset > 0 {
			last = 9
		}
		fmt.Fprint(w, things(offset+1, last))
	}
	c := open(t, &httptest.Server{}, file("page: {offset: {param: offset, limit_param: limit, limit: 10}}"))
	walk := func(from collection.Cursor) (collection.Cursor, int) {
		asked = 0
		return end(t, c, http.HandlerFunc(serve), things0, from), asked
	}
	from := collection.Cursor{}
	for n, want := range []int{2, 2, 2, 1, 1} {
		next, got := walk(from)
		if got != want {
			t.Errorf("walk %d of a list of one short page: %d requests, want %d", n, got, want)
		}
		from = collection.Cursor{High: next.High}
	}
	from.High = `{"short":100}`
	hides = true
	next, got := walk(from)
	if got != 3 {
		t.Errorf("a walk in a hundred asks behind the short page: %d requests, want 3", got)
	}
	if next, got = walk(collection.Cursor{High: next.High}); got != 3 {
		t.Errorf("behind a short page that was not the last one: %d requests, want 3", got)
	}

	// Of a hundred partitions three show it, and one more at the hundredth.
	hides = false
	c = open(t, &httptest.Server{}, file("page: {offset: {param: offset, limit_param: limit, limit: 10}}")+
		"  parts: {get: /parts, each: {n: things.id}, key: id, page: {offset: {param: offset, limit_param: limit, limit: 10}}}\n")
	asked = 0
	for n := range 100 {
		at := collection.Place{Stream: "parts", Lane: collection.Incremental, Partition: collection.Partition(fmt.Sprintf(`{"n":%d}`, n))}
		end(t, c, http.HandlerFunc(serve), at, collection.Cursor{})
	}
	if asked != 103 {
		t.Errorf("100 partitions of one short page: %d requests, want 103", asked)
	}
}

// TestAListThatEndsElsewhere: where short pages are believed to be the last ones, and a list ends with fewer records than it
// did before, or with more, the page behind is asked for: one record that is left out makes a page in the middle a short one.
func TestAListThatEndsElsewhere(t *testing.T) {
	type list struct{ lacks, last, requests, records int }
	quiet := []list{{0, 25, 4, 25}, {0, 25, 4, 25}, {0, 25, 4, 25}, {0, 25, 3, 25}, {0, 26, 4, 26}, {0, 26, 3, 26}, {0, 24, 4, 24}, {0, 24, 3, 24}}
	for _, page := range []string{"{offset: {param: offset, limit_param: limit, limit: 10, apart: true}}", "{number: {param: page, size_param: limit, size: 10}}"} {
		for name, left := range map[string][]list{
			"the first page lacks one":          {{1, 24, 4, 23}, {1, 24, 4, 23}}, // by offset 10 all the same
			"it grew, and the third page lacks": {{3, 45, 6, 44}, {3, 45, 6, 44}},
		} {
			var now list
			asked, had := 0, 0
			serve := func(w http.ResponseWriter, r *http.Request) {
				asked++
				offset := number(r, "offset", 10*(number(r, "page", 1)-1))
				to := min(offset+10, now.last)
				if now.lacks > 0 && offset == 10*(now.lacks-1) {
					to = offset + 9
				}
				had += max(0, to-offset)
				fmt.Fprint(w, things(offset+1, to))
			}
			c := open(t, &httptest.Server{}, file("page: "+page))
			from := collection.Cursor{}
			for n, of := range slices.Concat(quiet, left) {
				now, asked, had = of, 0, 0
				from = collection.Cursor{High: end(t, c, http.HandlerFunc(serve), things0, from).High}
				if had < of.records || asked > of.requests {
					t.Errorf("%s, %s, walk %d: %d requests for %d records, want %d for %d or more", page, name, n, asked, had, of.requests, of.records)
				}
			}
		}
	}
}

// TestAFewFromAMark: how many records come from a mark shows nothing, so that the page behind a short one is asked for
// each time.
func TestAFewFromAMark(t *testing.T) {
	asked := 0
	serve := func(w http.ResponseWriter, r *http.Request) {
		if asked++; number(r, "page", 1) > 1 {
			fmt.Fprint(w, "[]")
			return
		}
		fmt.Fprint(w, `[{"id":1,"at":"2026-01-01T00:00:00Z"}]`)
	}
	c := open(t, &httptest.Server{}, file("page: {number: {param: page, size_param: limit, size: 10}}, since: {field: at, param: after, order: none, lookback: 1s}"))
	from := collection.Cursor{}
	for n := range 6 {
		asked = 0
		next := end(t, c, http.HandlerFunc(serve), things0, from)
		if from = (collection.Cursor{Since: next.Since, High: next.High}); asked != 2 {
			t.Errorf("walk %d: %d requests, want 2", n, asked)
		}
	}
}

// end walks a place to its end, and returns the cursor there.
func end(t *testing.T, c connectors.Connector, h http.Handler, at collection.Place, from collection.Cursor) (next collection.Cursor) {
	t.Helper()
	for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{h}}, at, from) {
		if err != nil {
			t.Fatal(err)
		}
		next = slice.Next
	}
	return next
}

// TestNewestTieIsWalkedOnce: an idle walk does not walk the newest records twice
// when a walk before had the same ones.
func TestNewestTieIsWalkedOnce(t *testing.T) {
	f := &feed{size: 10, marks: map[int]int{}}
	for id := range 60 {
		f.marks[id] = 1_700_000_000 + id/50 // fifty records of one mark, and ten of the next
	}
	f.marks[99] = 1_700_000_000
	c := open(t, &httptest.Server{}, feedFile("order: asc"))
	stored := map[string]string{}
	requests := func(from collection.Cursor) (collection.Cursor, int) {
		f.asked = nil
		walk := pull(t, c, f, from, stored)
		last := walk[len(walk)-1].Next
		return collection.Cursor{Since: last.Since, High: last.High}, len(f.asked)
	}
	for id := range 60 {
		f.marks[id] = 1_700_000_000
	}
	from, first := requests(collection.Cursor{})
	from, second := requests(from)
	if _, third := requests(from); first < 2*second-2 || third != second || second > 8 {
		t.Errorf("61 records of one mark on pages of 10: %d, then %d, then %d requests", first, second, third)
	}
	f.marks[100] = 1_700_000_000
	if _, got := requests(from); got < 2*second-2 {
		t.Errorf("with a new record among them: %d requests, want two passes", got)
	}
}

// TestPromisesBehindMarks: a page from a mark that ends the list before what a
// page in front of it promised is not believed.
func TestPromisesBehindMarks(t *testing.T) {
	list := func(n int, next string) string {
		return fmt.Sprintf(`{"items":[{"id":%d,"at":%d},{"id":%d,"at":%d}],"next":%s}`, n, n, n+1, n+1, next)
	}
	src := file("records: items, page: {cursor: {from: next, param: c}}, since: {field: at, param: since, order: asc}")
	equal := func(w http.ResponseWriter, r *http.Request) { // since compares for equality
		switch q := r.URL.Query(); {
		case q.Get("since") != "":
			fmt.Fprintf(w, `{"items":[{"id":%[1]s,"at":%[1]s}],"next":null}`, q.Get("since"))
		case q.Get("c") == "":
			fmt.Fprint(w, list(1, `"x"`))
		default:
			fmt.Fprint(w, list(3, "null"))
		}
	}
	records, stop := walkAll(t, http.HandlerFunc(equal), src)
	ends(t, records, 3, stop, "asked for changes with `since`, the provider left out later records, which it sends otherwise: `since` may not mean \"from this time on\", or may read the time in another time zone")

	last := func(w http.ResponseWriter, r *http.Request) { // a next link behind the last page
		switch q := r.URL.Query(); {
		case q.Get("c") != "":
			fmt.Fprint(w, `{"items":[],"next":null}`)
		case q.Get("since") != "":
			fmt.Fprint(w, list(1, "null"))
		default:
			fmt.Fprint(w, list(1, `"x"`))
		}
	}
	records, stop = walkAll(t, http.HandlerFunc(last), src)
	ends(t, records, 4, stop, "")
}

// TestMadeBehindAMark: a record that is made after the page from a mark ended the
// list is on the page that was promised in front of it, and a page from the mark
// has it now: nothing is wrong with the mark.
func TestMadeBehindAMark(t *testing.T) {
	for _, test := range []struct {
		name  string
		late  int            // since means from so much later on
		moves map[int][2]int // in front of a request, a record gets a mark
		stop  string         // why the walk ends
		heals bool           // if the page is asked for once more
	}{
		{"made", 0, map[int][2]int{4: {6, 20}}, "", false},
		{"made, and then deleted", 0, map[int][2]int{4: {6, 20}, 6: {6, 0}}, "", false},
		{"made, and then updated", 0, map[int][2]int{4: {6, 20}, 5: {6, 30}}, "`since` may not mean", true},
		{"made at each request", 0, map[int][2]int{2: {6, 20}, 3: {7, 30}, 4: {8, 40}, 5: {9, 50}, 6: {10, 60}}, "", false},
		{"by an older version", 0, map[int][2]int{4: {6, 20}, 5: {6, 30}}, "`since` may not mean", true},
		{"in another time zone", 6, map[int][2]int{4: {6, 7}, 5: {7, 20}}, "`since` may not mean", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			marks, asked := []int{1, 1, 1, 1, 2, 2}, []string(nil)
			serve := func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.RawQuery)
				if move, ok := test.moves[len(asked)]; ok {
					marks = append(marks, make([]int, max(0, move[0]+1-len(marks)))...)
					marks[move[0]] = move[1]
				}
				after := number(r, "c", -1)
				from := number(r, "since", 0)
				if from > 1 {
					from += test.late
				}
				var ids []int
				for id, mark := range marks {
					if mark > 0 && mark >= from && mark*100+id > after {
						ids = append(ids, id)
					}
				}
				slices.SortFunc(ids, func(a, b int) int { return marks[a]*100 + a - marks[b]*100 - b })
				next, items := "null", []string(nil)
				for n, id := range ids {
					if n == 5 {
						last := ids[n-1]
						next = strconv.Itoa(marks[last]*100 + last)
						break
					}
					items = append(items, fmt.Sprintf(`{"id":%d,"at":%d}`, id, marks[id]))
				}
				fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(items, ","), next)
			}
			c := open(t, &httptest.Server{}, file("records: items, page: {cursor: {from: next, param: c}}, since: {field: at, param: since, order: asc}"))
			stored, from := map[string]bool{}, collection.Cursor{}
			walk := func() error {
				for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{http.HandlerFunc(serve)}}, things0, from) {
					if err != nil {
						return err
					}
					for _, r := range slice.Records {
						stored[r.Key] = true
					}
					from = slice.Next
				}
				return nil
			}
			err := walk()
			if got := fmt.Sprint(err); test.stop == "" && err != nil || !strings.Contains(got, test.stop) {
				t.Errorf("the walk ends with %v, want %q; it asked %q", err, test.stop, asked)
			}
			if test.name == "by an older version" {
				from.High = strings.Replace(from.High, `,"ended":"2"`, "", 1)
			}
			if err != nil {
				if err = walk(); (err == nil) != test.heals {
					t.Errorf("asked for once more, the page says %v, want that it heals: %t; it asked %q", err, test.heals, asked)
				}
			}
			for id, mark := range marks {
				if err == nil && mark > 0 && !stored[strconv.Itoa(id)] {
					t.Errorf("the record %d with the mark %d is missing; it asked %q", id, mark, asked)
				}
			}
		})
	}
}

// TestTotalOfAPromisedPage: a page that was promised in front of an anchor has the
// total of the list from the mark before it, and the pass began at the anchor.
func TestTotalOfAPromisedPage(t *testing.T) {
	marks := []int{1, 2, 3, 4, 5, 5, 5, 5}
	list := func(w http.ResponseWriter, r *http.Request) {
		since, _ := strconv.Atoi(r.URL.Query().Get("since"))
		at, _ := strconv.Atoi(r.URL.Query().Get("c"))
		var items []string
		for i, mark := range marks {
			if mark >= since {
				items = append(items, fmt.Sprintf(`{"id":%d,"at":%d}`, i, mark))
			}
		}
		total, next := len(items), "null"
		if items = items[at:]; len(items) > 6 {
			items, next = items[:6], strconv.Itoa(at+6)
		}
		fmt.Fprintf(w, `{"items":[%s],"next":%s,"total":%d}`, strings.Join(items, ","), next, total)
	}
	c := open(t, &httptest.Server{}, file("records: items, page: {cursor: {from: next, param: c}}, since: {field: at, param: since, order: asc}"))
	var totals []int64
	for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{http.HandlerFunc(list)}}, things0, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		totals = append(totals, slice.Told.Total)
	}
	if want := []int64{8, 0, 0}; !slices.Equal(totals, want) { // all 5 of the second page are its own total
		t.Errorf("the pages tell the totals %v, want %v", totals, want)
	}
}

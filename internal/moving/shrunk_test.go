package moving_test

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
	"collect/store/sqlite"
)

// A blog lists posts on numbered pages of ten, says how many there are, and refuses a page
// that it does not have, as WordPress does.
type blog struct {
	posts  int
	broken int                  // the page that is refused whatever the list has; 0: none
	before func(b *blog, n int) // called before the n-th request is answered
	asked  []int
}

func (b *blog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	b.asked = append(b.asked, page)
	if b.before != nil {
		b.before(b, len(b.asked))
	}
	first, last := (page-1)*10+1, min(page*10, b.posts)
	if page == b.broken || page > 1 && first > last {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"code":"rest_post_invalid_page_number"}`)
		return
	}
	var posts []string
	for id := first; id <= last; id++ {
		posts = append(posts, fmt.Sprintf(`{"id":%d}`, id))
	}
	w.Header().Set("X-WP-Total", strconv.Itoa(b.posts))
	w.Header().Set("X-WP-TotalPages", strconv.Itoa((b.posts+9)/10))
	fmt.Fprintf(w, "[%s]", strings.Join(posts, ","))
}

// TestAListThatShrank: a page that the list does not have any more is refused, which begins the
// walk anew. One that the list should have is owed.
func TestAListThatShrank(t *testing.T) {
	for name, test := range map[string]struct {
		blog
		outcome collection.Outcome
		walks   int
	}{
		"by more than a page while it is read": {blog{posts: 45, before: func(b *blog, n int) {
			if n == 3 {
				b.posts = 12
			}
		}}, collection.Complete, 2},
		"one page is broken": {blog{posts: 45, broken: 3}, collection.Blocked, 1},
		"by a record, and one page is broken": {blog{posts: 45, broken: 3, before: func(b *blog, n int) {
			if n == 3 {
				b.posts = 44
			}
		}}, collection.Blocked, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &test.blog
			c, db := b.open(t)
			if outcome, _ := run(t, db, c, "run-0"); outcome != test.outcome {
				t.Errorf("the run is %s, want %s; it asked for the pages %v", outcome, test.outcome, b.asked)
			}
			walks := 0
			for _, page := range b.asked {
				if page == 2 {
					walks++
				}
			}
			if walks != test.walks {
				t.Errorf("the list was walked %d times, want %d: %v", walks, test.walks, b.asked)
			}
		})
	}
}

// TestABrokenPageIsPassed, also by runs that end soon: the first page, which shows that the list did not
// shrink, costs each one request.
func TestABrokenPageIsPassed(t *testing.T) {
	b := &blog{posts: 105, broken: 8}
	c, db := b.open(t)
	var outcome collection.Outcome
	for n := range 5 {
		outcome, _ = runWithin(t, db, c, fmt.Sprint("run-", n), 5)
	}
	if !slices.Contains(b.asked, 11) || outcome != collection.Blocked {
		t.Errorf("the last of five runs is %s, and they asked for the pages %v, want all 11, and one that is owed", outcome, b.asked)
	}
}

// open returns a connector of the blog and a new store.
func (b *blog) open(t *testing.T) (connectors.Connector, *sqlite.Store) {
	t.Helper()
	web := httptest.NewServer(b)
	t.Cleanup(web.Close)
	return openFile(t, "connector: moving\nprovider: {base_url: \""+web.URL+"\", pace: off, concurrency: {max: 1}}\nstreams:\n  items:\n    get: /items\n    key: id\n    page: {number: {param: page, size: 10, total_pages: {header: X-WP-TotalPages}}}\n")
}

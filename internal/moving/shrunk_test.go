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

// TestAListThatShrank: a page that the list had when its total was told, and that is refused
// now, begins the walk anew, once. One that is refused for good is owed, and costs the next
// run no other walk.
func TestAListThatShrank(t *testing.T) {
	for name, test := range map[string]struct {
		blog
		outcome collection.Outcome
		next    int // requests of the run after it, at most
	}{
		"by more than a page while it is read": {blog{posts: 45, before: func(b *blog, n int) {
			if n == 3 {
				b.posts = 12
			}
		}}, collection.Complete, 4},
		"one page is broken": {blog{posts: 45, broken: 3}, collection.Blocked, 9},
	} {
		t.Run(name, func(t *testing.T) {
			b := &test.blog
			web := httptest.NewServer(b)
			defer web.Close()
			c, db := openFile(t, "connector: moving\nprovider: {base_url: \""+web.URL+"\", pace: off, concurrency: {max: 1}}\nstreams:\n  items:\n    get: /items\n    key: id\n    page: {number: {param: page, size: 10, total_pages: {header: X-WP-TotalPages}}}\n")
			outcome, _ := run(t, db, c, "run-0")
			if outcome != test.outcome {
				t.Errorf("the run is %s, want %s; it asked for the pages %v", outcome, test.outcome, b.asked)
			}
			first, whole := b.asked, 0
			for _, page := range first {
				if page == 1 {
					whole++
				}
			}
			if whole != 2 {
				t.Errorf("the list was begun %d times, want twice: %v", whole, first)
			}
			b.asked = nil
			if outcome, _ = run(t, db, c, "run-1"); outcome != test.outcome && outcome != collection.NothingNew {
				t.Errorf("the next run is %s", outcome)
			}
			if len(b.asked) > test.next {
				t.Errorf("the next run asked for the pages %v, want %d at most", b.asked, test.next)
			}
		})
	}
}

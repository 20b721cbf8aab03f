package moving_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A searcher is a provider that keeps where each scroll is, as Elasticsearch does: each
// request for one moves it on, and its id stays the same.
type searcher struct {
	records int
	page    int

	mu      sync.Mutex
	at      map[string]int // records before, by scroll
	begun   int
	expires int // the page of the first scroll that is no longer there; 0: it stays
	lost    int // the request for a page of a scroll whose answer is cut off; 0: none
	moved   int
}

func (s *searcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var asked struct {
		ID string `json:"scroll_id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	if r.URL.Path == "/_search/scroll" {
		from, ok := s.at[asked.ID]
		if !ok || s.expires > 0 && s.begun == 1 && from >= s.expires*s.page {
			w.WriteHeader(http.StatusNotFound)
			return
		}
	} else {
		s.begun++
		asked.ID = fmt.Sprintf("DXF1+%d==", s.begun)
		s.at[asked.ID] = 0
	}
	from := s.at[asked.ID]
	end := min(from+s.page, s.records)
	s.at[asked.ID] = end
	if from > 0 {
		if s.moved++; s.moved == s.lost {
			panic(http.ErrAbortHandler) // the scroll has moved on, and the page is lost
		}
	}
	var hits []string
	for id := from + 1; id <= end; id++ {
		hits = append(hits, fmt.Sprintf(`{"_id":"%d"}`, id))
	}
	fmt.Fprintf(w, `{"_scroll_id":%q,"hits":{"total":{"value":%d},"hits":[%s]}}`, asked.ID, s.records, strings.Join(hits, ","))
}

const scrollFile = `
connector: search
provider: {base_url: %q, pace: off}
streams:
  docs:
    post: /docs/_search?scroll=1m
    json: {size: 10, sort: [_doc]}
    records: hits.hits
    key: _id
    page: {scroll: {from: _scroll_id, post: /_search/scroll, json: {scroll: 1m, scroll_id: "${page}"}}}
`

// TestScrollLosesNoPage: a run that was killed begins its scroll anew, since the page at
// which it stood may have been sent and lost.
func TestScrollLosesNoPage(t *testing.T) {
	for seed := range uint64(8) { // one kill each: another whole walk would have what this one lost
		s := &searcher{records: 53, page: 10, at: map[string]int{}}
		v := &victim{kills: 1, serve: s.ServeHTTP, file: scrollFile}
		v.runKilled(t, rand.New(rand.NewPCG(seed, 4)))
		if got := v.exported(t, "docs"); len(got) != s.records {
			t.Errorf("seed %d: %d records are stored after %d kills, want %d", seed, len(got), v.killed, s.records)
		}
	}
}

// TestScrollThatEnds: one that the provider forgot, or whose answer was lost, begins
// anew, once in a run.
func TestScrollThatEnds(t *testing.T) {
	for name, test := range map[string]struct {
		s     *searcher
		exits []int
		begun int
	}{
		"forgotten":   {&searcher{expires: 2}, []int{0}, 2},
		"answer lost": {&searcher{lost: 2}, []int{0}, 2},
	} {
		s := test.s
		s.records, s.page, s.at = 53, 10, map[string]int{}
		v := &victim{serve: s.ServeHTTP, file: scrollFile}
		v.start(t, rand.New(rand.NewPCG(1, 1)))
		for n, want := range test.exits {
			if code, _, stderr := v.run(t, 0, "run", filepath.Join(v.dir, "c.yaml"), "--create"); code != want {
				t.Errorf("%s: run %d ends with %d, want %d:\n%s", name, n, code, want, stderr)
			}
		}
		if got := v.exported(t, "docs"); len(got) != s.records || s.begun != test.begun {
			t.Errorf("%s: %d records are stored after %d scrolls, want %d after %d", name, len(got), s.begun, s.records, test.begun)
		}
	}
}

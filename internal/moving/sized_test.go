package moving_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A bearing is a provider that bears fewer records at once than it is asked for, now
// more and now fewer.
type bearing struct {
	records int

	mu      sync.Mutex
	random  *rand.Rand
	most    int
	asked   int
	refused map[string]int // by what was asked for, since an answer
	storms  []string
}

func (s *bearing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	size, _ := strconv.Atoi(q.Get("size"))
	from, _ := strconv.Atoi(q.Get("after"))
	if page, err := strconv.Atoi(q.Get("page")); err == nil {
		from = (page - 1) * size
	}
	if s.asked++; s.asked%7 == 0 {
		s.most = []int{1, 3, 12, 64}[s.random.IntN(4)]
	}
	from = min(from, s.records)
	end := min(from+size, s.records)
	if end-from > s.most {
		if s.refused[r.URL.RawQuery]++; s.refused[r.URL.RawQuery] == 2 {
			s.storms = append(s.storms, r.URL.RawQuery)
		}
		w.WriteHeader([]int{http.StatusRequestEntityTooLarge, http.StatusGatewayTimeout}[s.random.IntN(2)])
		return
	}
	clear(s.refused)
	var items []string
	for id := from + 1; id <= end; id++ {
		items = append(items, fmt.Sprintf(`{"id":%d}`, id))
	}
	next := "null"
	if end < s.records {
		next = strconv.Itoa(end)
	}
	fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(items, ","), next)
}

// TestSizeFallsAndRisesUnderKills: every record is stored, and no request that was too
// much is sent again as it was, but by a process that cannot know of it.
func TestSizeFallsAndRisesUnderKills(t *testing.T) {
	for name, page := range map[string]string{
		"cursor": "{cursor: {from: next, param: after}, size: {param: size, from: 64}}",
		"last":   "{last_id: {param: after, field: id}, size: {param: size, from: 64}}",
		"offset": "{offset: {param: after, limit_param: size, limit: 64}, size: {least: 1}}",
		"number": "{number: {param: page, size_param: size, size: 64}, size: {least: 1}}",
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 8))
			s := &bearing{records: 307, random: rand.New(rand.NewPCG(1, 4)), most: 64, refused: map[string]int{}}
			v := &victim{kills: 5, serve: s.ServeHTTP, file: `
connector: sized
provider: {base_url: %q, pace: off, concurrency: {max: 4}}
streams:
  items: {get: /items, records: items, key: id, page: ` + page + `}
`}
			v.runKilled(t, random)
			if got := v.exported(t, "items"); len(got) != s.records {
				t.Errorf("%d records are stored, want %d", len(got), s.records)
			}
			if len(s.storms) > v.killed {
				t.Errorf("%d requests that were too much were sent again as they were, after %d kills: %q", len(s.storms), v.killed, s.storms)
			}
		})
	}
}

// TestTooMuchIsAskedOnce: where the provider always bears as much, each size that is too
// much is asked for once, and once more when it is tried again.
func TestTooMuchIsAskedOnce(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"gateway timeout": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) },
		"no answer":       func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no end": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"items":[`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of its time
			askTooMuch(t, refuse)
		})
	}
}

func askTooMuch(t *testing.T, refuse http.HandlerFunc) {
	var asked []string
	v := &victim{file: `
connector: once
provider: {base_url: %q, pace: off, limits: {header_timeout: 2s, request_timeout: 3s}}
streams:
  items: {get: /items, records: items, key: id, page: {cursor: {from: next, param: after}, size: {param: size, from: 64}}}
`}
	s := &bearing{records: 100, most: 12, random: rand.New(rand.NewPCG(1, 4)), refused: map[string]int{}}
	v.serve = func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Get("size"))
		if size, _ := strconv.Atoi(q.Get("size")); size > s.most {
			refuse(w, r)
			return
		}
		s.asked = 0 // it bears as much at all times
		s.ServeHTTP(w, r)
	}
	v.start(t, rand.New(rand.NewPCG(1, 1)))
	code, _, stderr := v.run(t, 0, "run", filepath.Join(v.dir, "c.yaml"), "--create")
	if got, want := strings.Join(asked, " "), "64 32 16 8 8 8 8 8 8 8 8 8 8 16 8 8 8"; code != 0 || got != want {
		t.Errorf("the run ends with %d and asked for pages of %s, want %s\n%s", code, got, want, stderr)
	}
}

// TestPageThatIsTooMuchForNow: a page that cannot be had in any size is owed as a
// whole, and is had as a whole when a smaller one can be.
func TestPageThatIsTooMuchForNow(t *testing.T) {
	for name, page := range map[string]string{
		"offset": "{offset: {param: after, limit_param: size, limit: 64}, size: {least: 8}}",
		"number": "{number: {param: page, size_param: size, size: 64}, size: {least: 8}}",
	} {
		s := &bearing{records: 307, most: 64, random: rand.New(rand.NewPCG(1, 4)), refused: map[string]int{}}
		ill := true
		v := &victim{file: `
connector: ill
provider: {base_url: %q, pace: off, concurrency: {max: 4}}
streams:
  items: {get: /items, records: items, key: id, page: ` + page + `}
`}
		v.serve = func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			q := r.URL.Query()
			size, _ := strconv.Atoi(q.Get("size"))
			from, _ := strconv.Atoi(q.Get("after"))
			if page, err := strconv.Atoi(q.Get("page")); err == nil {
				from = (page - 1) * size
			}
			here := from+size > 90 && from < 130
			s.asked = 0
			s.mu.Unlock()
			if here && (ill || size > 16) {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			s.ServeHTTP(w, r)
		}
		v.start(t, rand.New(rand.NewPCG(1, 1)))
		connector := filepath.Join(v.dir, "c.yaml")
		if code, _, stderr := v.run(t, 0, "run", connector, "--create"); code == 0 {
			t.Errorf("%s: a run that lacks a page is a success: %s", name, stderr)
		}
		ill = false
		if code, _, stderr := v.run(t, 0, "gaps", "retry", connector, "--yes", "--reason", "mended"); code != 0 {
			t.Errorf("%s: gaps retry ends with %d: %s", name, code, stderr)
		}
		code, _, stderr := v.run(t, 0, "resume", connector)
		if got := v.exported(t, "items"); code != 0 || len(got) != s.records {
			t.Errorf("%s: the second run ends with %d, and %d records are stored, want 0 and %d\n%s", name, code, len(got), s.records, stderr)
		}
	}
}

// TestPagesOfAWalk: a walk of more pages than `limits` allows is a gap that says so, and
// the next run goes on where it stands.
func TestPagesOfAWalk(t *testing.T) {
	s := &bearing{records: 50, most: 64, random: rand.New(rand.NewPCG(1, 4)), refused: map[string]int{}}
	v := &victim{serve: s.ServeHTTP, file: `
connector: pages
provider: {base_url: %q, pace: off, limits: {pages: 3}}
streams:
  items: {get: /items, query: {size: 10}, records: items, key: id, page: {cursor: {from: next, param: after}}}
`}
	v.start(t, rand.New(rand.NewPCG(1, 1)))
	code, _, stderr := v.run(t, 0, "run", filepath.Join(v.dir, "c.yaml"), "--create")
	if said := strings.Join(strings.Fields(stderr), " "); code != 76 || !strings.Contains(said, "not at its end after 3 pages") {
		t.Errorf("the run ends with %d, want 76 and what is so:\n%s", code, stderr)
	}
	if n := len(v.exported(t, "items")); n != 30 || s.asked != 3 {
		t.Errorf("%d records are stored after %d requests, want 30 after 3", n, s.asked)
	}
	code, _, stderr = v.run(t, 0, "run", filepath.Join(v.dir, "c.yaml"))
	if got := v.exported(t, "items"); code != 0 || len(got) != 50 || !slices.Contains(got, "{\"id\":50}\n") || s.asked != 5 {
		t.Errorf("the second run ends with %d, and %d records are stored after %d requests, want 0 and 50 after 5:\n%s", code, len(got), s.asked, stderr)
	}
}

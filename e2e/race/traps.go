package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// The lists of the traps have ten pages.
const (
	trapPages = 10
	trapSize  = 50
)

// A trap is a list that a careless reader does not get whole. Its page is asked for by
// number; times is how often that page was asked for before. It returns the numbers of
// the records and how many pages it says there are.
type trap struct {
	name, what string
	env        []string
	lacks      [2]int // the first and last number of the records that are not to be had at the end
	page       func(l *lists, n, times int) (ids []int, total int)
}

func traps() []trap {
	return []trap{
		{name: "ties", what: "records with the same mark, in another order at each request",
			page: func(_ *lists, n, _ int) ([]int, int) {
				order := rand.Perm(trapPages * trapSize)
				return cut(order, n), trapPages
			}},
		{name: "moves", what: "a record of page 1 is deleted after page 3, so that the rest moves", lacks: [2]int{1, 1},
			page: func(l *lists, n, _ int) ([]int, int) {
				first := 0
				if l.deleted {
					first = 1
				}
				l.deleted = l.deleted || n == 3
				return cut(count(first, trapPages*trapSize), n), trapPages
			}},
		{name: "short", what: "page 4 has 30 of 50 records", lacks: [2]int{181, 200},
			page: func(_ *lists, n, _ int) ([]int, int) {
				ids := cut(count(0, trapPages*trapSize), n)
				if n == 4 {
					ids = ids[:30]
				}
				return ids, trapPages
			}},
		{name: "gone", what: "page 6 is answered with 410; the other nine can be had", lacks: [2]int{251, 300},
			page: func(_ *lists, n, _ int) ([]int, int) { return cut(count(0, trapPages*trapSize), n), trapPages }},
		{name: "shrinks", what: "from page 5 on the total of the pages is 5 in place of 10", env: []string{"RACE_TOTAL=1"},
			page: func(_ *lists, n, _ int) ([]int, int) {
				total := trapPages
				if n >= 5 {
					total = 5
				}
				return cut(count(0, trapPages*trapSize), n), total
			}},
		{name: "foreign", what: "the link behind page 5 leads to another host, where the rest is", lacks: [2]int{251, 500},
			page: func(_ *lists, n, _ int) ([]int, int) { return cut(count(0, trapPages*trapSize), n), trapPages }},
		{name: "errors", what: "page 4 is at first 200 with an error and no records, and then as it should be",
			page: func(_ *lists, n, times int) ([]int, int) {
				if n == 4 && times == 0 {
					return nil, trapPages
				}
				return cut(count(0, trapPages*trapSize), n), trapPages
			}},
	}
}

// total is how many records a list says it has.
func (l *lists) total(name string) int {
	n := trapPages * trapSize
	switch {
	case name == "short":
		n -= 20
	case name == "moves" && l.deleted:
		n--
	}
	return n
}

// count returns the numbers from first to the one before last.
func count(first, last int) []int {
	ids := make([]int, 0, last)
	for i := first; i < last; i++ {
		ids = append(ids, i)
	}
	return ids
}

// cut returns page n.
func cut(ids []int, n int) []int {
	from := min(max(0, n-1)*trapSize, len(ids))
	return ids[from:min(from+trapSize, len(ids))]
}

// lists serves the traps.
type lists struct {
	mu      sync.Mutex
	deleted bool
	asked   map[string]int
	foreign string // the URL of the other host
	leaked  bool   // the credential came there
}

func (l *lists) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := strings.Trim(r.URL.Path, "/")
	abroad := strings.HasPrefix(l.foreign, "http://"+r.Host)
	l.leaked = l.leaked || abroad && r.Header.Get("Authorization") != ""
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		n = 1
	}
	for _, t := range traps() {
		if t.name != name {
			continue
		}
		key := fmt.Sprint(name, n)
		ids, total := t.page(l, n, l.asked[key])
		l.asked[key]++
		body := map[string]any{"items": items(ids), "total_pages": total, "total": l.total(name)}
		switch {
		case name == "gone" && n == 6:
			w.WriteHeader(http.StatusGone)
			return
		case name == "errors" && ids == nil && n == 4:
			body["errors"] = []map[string]string{{"message": "internal"}}
		case name == "foreign" && n < trapPages:
			host := "http://" + r.Host
			if n == 5 {
				host = l.foreign
			}
			body["next"] = fmt.Sprintf("%s/foreign?page=%d", host, n+1)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // a client that has gone is none of ours
		return
	}
	http.NotFound(w, r)
}

func items(ids []int) []map[string]any {
	items := make([]map[string]any, len(ids))
	for i, id := range ids {
		items[i] = map[string]any{"id": id + 1, "mark": "2024-01-01T00:00:00Z"}
	}
	return items
}

// traps runs each tool once into each trap.
func (r *race) traps() error {
	fmt.Print("\n## Traps\n\nLists of ten pages of 50 records. A tool that ends with another code than 0, or says that something is missing, does not lose in silence.\n\n")
	fmt.Print("| trap | tool | rows missing | exit | what it said |\n|---|---|---:|---:|---|\n")
	for _, t := range traps() {
		for _, tool := range tools() {
			if t.name == "foreign" && tool.name == "benthos" {
				continue // it follows no links
			}
			if err := r.trap(t, tool); err != nil {
				return fmt.Errorf("%s, %s: %w", t.name, tool.name, err)
			}
		}
	}
	return nil
}

func (r *race) trap(t trap, tool tool) error {
	l := &lists{asked: map[string]int{}}
	here, abroad := httptest.NewServer(l), httptest.NewUnstartedServer(l)
	defer here.Close()
	var err error
	if abroad.Listener, err = net.Listen("tcp", "127.0.0.2:0"); err != nil {
		return err
	}
	abroad.Start()
	defer abroad.Close()
	l.foreign = abroad.URL

	r.outs++
	out := filepath.Join(r.dir, fmt.Sprint(r.outs))
	if err := os.MkdirAll(out, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(out)
	w := work{file: "traps.yaml", args: []string{"--stream", t.name}, stream: t.name,
		env: append([]string{"RACE_PATH=" + t.name, "RACE_SIZE=50", "RACE_PAGES=10"}, t.env...)}
	got := r.once(tool, w, here.URL, out, 0)
	have, err := r.rows(tool, w, out)
	if err != nil {
		return err
	}
	missing := 0
	for id := 1; id <= trapPages*trapSize; id++ {
		if (id < t.lacks[0] || id > t.lacks[1]) && !have[id] {
			missing++
		}
	}
	line := got.said
	if l.leaked {
		line = "**sent the credential to the other host** " + line
	}
	fmt.Printf("| %s | %s | %d | %d | %s |\n", t.what, tool.name, missing, got.exit, strings.ReplaceAll(line, "|", "/"))
	return nil
}

package declarative_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/connectortest"
)

// sizedPages are pagings whose pages may change their size, as a server of 97 records
// reads them: from the query, where a page begins.
var sizedPages = map[string]struct {
	page, extra string
	begins      func(r *http.Request, size int) int
}{
	"cursor":        {"{cursor: {from: next, param: after}, size: {param: size, from: 40}}", "get: /things", func(r *http.Request, _ int) int { return number(r, "after", 0) }},
	"last id":       {"{last_id: {param: after, field: id}, size: {param: size, from: 40}}", "get: /things", func(r *http.Request, _ int) int { return number(r, "after", 0) }},
	"offset":        {"{offset: {param: after, limit_param: size, limit: 40}, size: {least: 1}}", "get: /things", func(r *http.Request, _ int) int { return number(r, "after", 0) }},
	"apart":         {"{offset: {param: after, limit_param: size, limit: 40, apart: true}, size: {least: 1}}", "get: /things", func(r *http.Request, _ int) int { return number(r, "after", 0) }},
	"number":        {"{number: {param: page, size_param: size, size: 40}, size: {least: 1}}", "get: /things", func(r *http.Request, size int) int { return (number(r, "page", 1) - 1) * size }},
	"number from 0": {"{number: {param: page, start: 0, size_param: size, size: 45}, size: {least: 1}}", "get: /things", func(r *http.Request, size int) int { return number(r, "page", 0) * size }},
	"in the path":   {"{last_id: {field: id, param: after}, size: {from: 40}}", `get: "/things?size=${size}"`, func(r *http.Request, _ int) int { return number(r, "after", 0) }},
}

func sizedFile(kind string) string {
	return "\nconnector: test\nprovider: {base_url: \"https://things.test\", limits: {body: 3KiB}}\nstreams: {things: {" + sizedPages[kind].extra + ", key: id, records: items, page: " + sizedPages[kind].page + "}}\n"
}

// TestSizeOfAPageFalls where a page is too much, and no record is lost or comes twice,
// however the size changes within a walk and over restarts of the process.
func TestSizeOfAPageFalls(t *testing.T) {
	const all = 97
	for kind, pg := range sizedPages {
		t.Run(kind, func(t *testing.T) {
			shrank, grew := 0, 0
			for seed := range uint64(150) {
				random := rand.New(rand.NewPCG(seed, 3))
				most, asked, last, refused := 40, 0, 0, 0
				c := open(t, &httptest.Server{}, sizedFile(kind))
				client := &http.Client{Transport: tooMuch{direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					size := number(r, "size", 0)
					asked++
					if size < last {
						shrank++
					} else if size > last && last > 0 {
						grew++
					}
					from := pg.begins(r, size)
					if last = size; min(size, all-from) > most {
						refused++
						switch random.IntN(3) {
						case 0:
							w.WriteHeader(http.StatusRequestEntityTooLarge)
						case 1:
							w.WriteHeader(http.StatusGatewayTimeout)
						default:
							fmt.Fprint(w, `{"items": [], "pad": "`+strings.Repeat("x", 4000)+`"}`)
						}
						return
					}
					from = min(from, all)
					to := min(from+size, all)
					next := "null"
					if to < all {
						next = strconv.Itoa(to)
					}
					fmt.Fprintf(w, `{"items": %s, "next": %s}`, things(from+1, to), next)
				})}}}
				had := map[string]int{}
				at := collection.Cursor{}
				for !at.Done {
					for slice, err := range c.Slices(t.Context(), client, things0, at) {
						if err != nil {
							t.Fatalf("seed %d: at %+v: %v", seed, at, err)
						}
						for _, r := range slice.Records {
							had[r.Key]++
						}
						if at = slice.Next; random.IntN(4) == 0 {
							most = []int{1, 2, 5, 11, 40}[random.IntN(5)] // what the provider bears
						}
						if random.IntN(6) == 0 {
							c = open(t, &httptest.Server{}, sizedFile(kind)) // another process, which knows no size
							break
						}
					}
				}
				if len(had) != all {
					t.Fatalf("seed %d: %d records, want %d", seed, len(had), all)
				}
				for key, n := range had {
					if n != 1 {
						t.Fatalf("seed %d: record %s came %d times", seed, key, n)
					}
				}
				if refused > asked/2+40 {
					t.Errorf("seed %d: %d of %d requests were refused", seed, refused, asked)
				}
			}
			if shrank == 0 || grew == 0 {
				t.Errorf("the size fell %d times and rose %d times, want both", shrank, grew)
			}
		})
	}
}

// tooMuch tells of refusals as the governed client does.
type tooMuch struct{ direct }

func (f tooMuch) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := f.direct.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	switch resp.StatusCode {
	case http.StatusRequestEntityTooLarge:
		return nil, &collection.Stop{Reason: collection.TooLarge, Status: resp.StatusCode}
	case http.StatusGatewayTimeout:
		return nil, &collection.Stop{Reason: collection.UpstreamPressure, Status: resp.StatusCode}
	}
	return resp, nil
}

// TestSizedPagingConforms runs the suite of the port against a provider that bears ten
// records at once.
func TestSizedPagingConforms(t *testing.T) {
	for kind, pg := range sizedPages {
		t.Run(kind, func(t *testing.T) {
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				size := number(r, "size", 0)
				from := pg.begins(r, size)
				to := min(from+size, 43)
				next := "null"
				if to < 43 {
					next = strconv.Itoa(to)
				}
				fmt.Fprintf(w, `{"items": %s, "next": %s}`, things(from+1, to), next)
			})
			connectortest.Test(t, open(t, server, sizedFile(kind)), server.Client())
		})
	}
}

// TestSmallestPageThatIsTooMuch is a gap that says so, after one request for each size.
func TestSmallestPageThatIsTooMuch(t *testing.T) {
	for name, test := range map[string]struct {
		page, want string
		asked      string
		serve      func(w http.ResponseWriter, r *http.Request)
	}{
		"the least": {"{cursor: {from: next, param: after}, size: {param: size, from: 40, least: 10}}", "a page of 10 records is the least that `size` allows", "40 20 10", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}},
		"a short page before": {"{number: {param: page, size_param: size, size: 40}, size: {least: 1}}", "cannot be less than 40 here", "40 40", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("page") == "1" {
				fmt.Fprintf(w, `{"items": %s}`, things(1, 30))
				return
			}
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}},
	} {
		var asked []string
		c := open(t, &httptest.Server{}, "\nconnector: test\nprovider: {base_url: \"https://things.test\"}\nstreams: {things: {get: /things, key: id, records: items, page: "+test.page+"}}\n")
		client := &http.Client{Transport: tooMuch{direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Query().Get("size"))
			test.serve(w, r)
		})}}}
		var last error
		for _, err := range c.Slices(t.Context(), client, things0, collection.Cursor{}) {
			last = err
		}
		stop, ok := errors.AsType[*collection.Stop](last)
		if !ok || stop.Reason != collection.TooLarge || !strings.Contains(stop.Detail, test.want) {
			t.Errorf("%s: the error is %v, want one that says %q", name, last, test.want)
		}
		if got := strings.Join(asked, " "); got != test.asked {
			t.Errorf("%s: pages of %s were asked for, want %s", name, got, test.asked)
		}
	}
}

// TestSizedPagesAreNotNamedAhead: a page whose number or offset is counted before it is
// asked for would be another one once the size has changed.
func TestSizedPagesAreNotNamedAhead(t *testing.T) {
	at := collection.Place{Stream: "things", Lane: collection.Incremental}
	for _, kind := range []string{"offset", "apart", "number"} {
		for size, want := range map[string]int{", size: {least: 1}": 0, "": 3} {
			file := strings.Replace(sizedFile(kind), ", size: {least: 1}", size, 1)
			c := open(t, &httptest.Server{}, file).(connectors.Aheader)
			if ahead := c.Ahead(at, collection.Cursor{}, 3); len(ahead) != want {
				t.Errorf("%s%s: %d pages are named ahead, want %d", kind, size, len(ahead), want)
			}
		}
	}
}

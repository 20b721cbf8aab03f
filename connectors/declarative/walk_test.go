package declarative_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/connectortest"
	"collect/connectors/declarative"
	"collect/pacing"
)

// open returns the connector of a file for the server, or for the address in
// the file if the server has none.
func open(t *testing.T, server *httptest.Server, src string) connectors.Connector {
	t.Helper()
	spec, err := declarative.Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	c, err := spec.Build(declarative.Options{Provider: declarative.Overrides{BaseURL: server.URL}})
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return c
}

// serve starts a server that is stopped with the test.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// things makes the records from, from+1, … to.
func things(from, to int) string {
	var list []string
	for id := from; id <= to; id++ {
		list = append(list, fmt.Sprintf(`{"id": %d, "name": "thing %d"}`, id, id))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// number reads a parameter of a query, or returns def.
func number(r *http.Request, name string, def int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
		return n
	}
	return def
}

const total = 23 // records that the servers of these tests hold; 5 a page

// pages returns the records after the first n, and whether there are more.
func pages(n int) (records string, more bool) {
	return things(n+1, min(n+5, total)), n+5 < total
}

var styles = []struct {
	name, page, extra string
	serve             func(w http.ResponseWriter, r *http.Request)
}{
	{"link header", "{link_header: next}", "", func(w http.ResponseWriter, r *http.Request) {
		records, more := pages(number(r, "after", 0))
		if more {
			w.Header().Add("Link", `<https://other.test/?a=1,2>; rel="first", </things?after=`+strconv.Itoa(number(r, "after", 0)+5)+`&sig=%2f%2F>; rel="prefetch next"`)
		}
		fmt.Fprint(w, records)
	}},
	{"next url", "{next_url: links.next}", "records: items", func(w http.ResponseWriter, r *http.Request) {
		records, more := pages(number(r, "after", 0))
		next := "null"
		if more {
			next = fmt.Sprintf(`"?after=%d"`, number(r, "after", 0)+5)
		}
		fmt.Fprintf(w, `{"items": %s, "links": {"next": %s}}`, records, next)
	}},
	{"cursor", "{cursor: {from: meta.next, param: cursor}}", "records: items", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("cursor"), "a+b/=&"))
		records, more := pages(n)
		next := ""
		if more {
			next = fmt.Sprintf("a+b/=\\u0026%d", n+5)
		}
		fmt.Fprintf(w, `{"items": %s, "meta": {"next": "%s"}}`, records, next)
	}},
	{"cursor with more", "{cursor: {from: next, param: cursor, more: more}}", "records: items", func(w http.ResponseWriter, r *http.Request) {
		records, more := pages(number(r, "cursor", 0))
		fmt.Fprintf(w, `{"items": %s, "next": %d, "more": %t}`, records, number(r, "cursor", 0)+5, more)
	}},
	{"cursor with a first one", `{cursor: {from: next, param: cursor, first: "*"}}`, "records: items", func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query().Get("cursor")
		n, err := strconv.Atoi(strings.TrimPrefix(asked, "at"))
		if err != nil && asked != "*" {
			http.Error(w, "a cursor is wanted", http.StatusBadRequest)
			return
		}
		records, _ := pages(n)
		if n < total {
			n += 5 // behind the end it is the cursor that was asked for, as of Solr
		}
		fmt.Fprintf(w, `{"items": %s, "next": "at%d"}`, records, n)
	}},
	{"continue", "{continue: {from: continue}}", "records: items", func(w http.ResponseWriter, r *http.Request) {
		records, more := pages(number(r, "from", 0))
		next := ""
		if more {
			next = fmt.Sprintf(`, "continue": {"from": %d, "continue": "-||"}`, number(r, "from", 0)+5)
		}
		fmt.Fprintf(w, `{"items": %s%s}`, records, next)
	}},
	{"number", "{number: {param: page, size_param: per_page, size: 5}}", "", func(w http.ResponseWriter, r *http.Request) {
		records, _ := pages((number(r, "page", 0) - 1) * number(r, "per_page", 0))
		fmt.Fprint(w, records)
	}},
	{"number from 0 with total", "{number: {param: page, start: 0, total_pages: pages}}", "records: items", func(w http.ResponseWriter, r *http.Request) {
		records, _ := pages(number(r, "page", 0) * 5)
		fmt.Fprintf(w, `{"items": %s, "pages": 5}`, records)
	}},
	{"offset", "{offset: {param: offset, limit_param: limit, limit: 5}}", "", func(w http.ResponseWriter, r *http.Request) {
		records, _ := pages(number(r, "offset", 0))
		fmt.Fprint(w, records)
	}},
	{"offset with total", "{offset: {param: skip, total: total}}", "records: items", func(w http.ResponseWriter, r *http.Request) {
		records, _ := pages(number(r, "skip", 0))
		fmt.Fprintf(w, `{"items": %s, "total": %d}`, records, total)
	}},
	{"last id", "{last_id: {param: starting_after, field: id, more: has_more}}", "records: items", func(w http.ResponseWriter, r *http.Request) {
		records, more := pages(number(r, "starting_after", 0))
		fmt.Fprintf(w, `{"items": %s, "has_more": %t}`, records, more)
	}},
	{"last id until empty", "{last_id: {param: starting_after, field: id}}", "", func(w http.ResponseWriter, r *http.Request) {
		records, _ := pages(number(r, "starting_after", 0))
		fmt.Fprint(w, records)
	}},
	{"none", "{none: true}", "", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, things(1, total))
	}},
}

func TestEveryStyleOfPaging(t *testing.T) {
	for _, style := range styles {
		t.Run(style.name, func(t *testing.T) {
			server := serve(t, style.serve)
			c := open(t, server, `
connector: test
provider: {base_url: "https://api.test"}
defaults: {key: id}
streams:
  things: {get: /things, page: `+style.page+", "+style.extra+"}\n")
			connectortest.Test(t, c, server.Client())
			seen := map[string]bool{}
			for slice, err := range c.Slices(t.Context(), server.Client(), collection.Place{Stream: "things"}, collection.Cursor{}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range slice.Records {
					if want := fmt.Sprintf(`{"id": %s, "name": "thing %s"}`, r.Key, r.Key); string(r.Data) != want {
						t.Errorf("record %s is %s, want %s", r.Key, r.Data, want)
					}
					seen[r.Key] = true
				}
			}
			if len(seen) != total {
				t.Errorf("%d records, want %d", len(seen), total)
			}
		})
	}
}

func TestParentsAndDetails(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.EscapedPath(); path {
		case "/orgs/acme/repos":
			fmt.Fprint(w, `[{"id":1,"full_name":"acme/a b","n":2},{"id":2,"full_name":"acme/é","n":0}]`)
		case "/repos/acme/a%20b/issues":
			fmt.Fprint(w, `[{"id":10,"number":7,"comments":2,"at":"x"},{"id":11,"number":8,"comments":0,"at":"y"}]`)
		case "/repos/acme/a%20b/issues/7":
			fmt.Fprint(w, `{"id":10,"text":"long"}`)
		default:
			t.Errorf("unexpected request for %s", path)
			http.NotFound(w, r)
		}
	})
	spec, err := declarative.Parse("test.yaml", []byte(`
connector: test
params: {org: {required: true}}
provider: {base_url: "https://api.test"}
defaults: {key: id, page: {none: true}}
streams:
  details:
    each: {repo: issues.repo, n: issues.number, when: issues.comments > 0, changed: issues.at}
    get: /repos/${repo}/issues/${n}
    role: detail
    key: [repo, n]
  issues:
    each: {repo: repos.full_name, when: repos.n > 0}
    get: /repos/${repo}/issues
  repos: {get: "/orgs/${params.org}/repos"}
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Build(declarative.Options{Params: map[string]string{"org": "acme"}, Provider: declarative.Overrides{BaseURL: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	connectortest.Test(t, c, server.Client())

	var order []string
	for _, st := range c.Streams() {
		order = append(order, fmt.Sprintf("%s %s %s %s", st.Name, st.Role, st.Parent, st.Refresh))
	}
	if got, want := strings.Join(order, "; "), "repos list  ; issues list repos each_run; details detail issues when_changed"; got != want {
		t.Errorf("streams %s, want %s", got, want)
	}
	issue := collection.Parent{
		Partition: collection.NewPartition(map[string]json.RawMessage{"repo": json.RawMessage(`"acme/a b"`)}),
		Record:    collection.Record{Data: []byte(`{"id":10,"number":7,"comments":2,"at":"x"}`)},
	}
	p, version, ok, err := c.Partition("details", issue)
	if want := `{"n":7,"repo":"acme/a b"}`; string(p) != want || version != "x" || !ok || err != nil {
		t.Errorf("Partition = %s, %q, %t, %v, want %s, x, true, nil", p, version, ok, err, want)
	}
	for slice, err := range c.Slices(t.Context(), server.Client(), collection.Place{Stream: "details", Partition: p}, collection.Cursor{Version: version}) {
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slice.Records[0].Key, `["acme/a b",7]`; got != want {
			t.Errorf("composite key %s, want %s", got, want)
		}
	}
}

// TestAPageBehindTheLast: a page that is counted and answered 404 with the words of Django is
// the end of the list, unless the total that the pages told is not reached, or it is the
// first page, or the words are others.
func TestAPageBehindTheLast(t *testing.T) {
	const invalid = `{"detail": "Invalid page."}`
	for _, test := range []struct {
		name, page string
		had        int // pages before the 404
		body       string
		total      string // what pages tell
		want       collection.Reason
		against    bool // the evidence speaks against the end
	}{
		{"the end", "{number: {param: page}}", 5, invalid, `"count": 23`, "", false},
		{"with a size", "{number: {param: page, size_param: size, size: 5}}", 5, invalid, `"count": 23`, "", false},
		{"with a size that changes", "{number: {param: page, size_param: size, size: 5}, size: {least: 2}}", 5, invalid, `"count": 23`, "", false},
		{"without a total", "{number: {param: page}}", 5, invalid, `"x": 0`, "", false},
		{"older words", "{number: {param: page}}", 5, `{"detail": "Invalid page \"6\": That page contains no results."}`, `"count": 23`, "", false},
		{"in the middle", "{number: {param: page}}", 3, invalid, `"count": 23`, "", true},
		{"in the middle of the pages", "{number: {param: page, total_pages: pages}}", 4, invalid, `"pages": 5`, "", true},
		{"in the middle, with a size that changes", "{number: {param: page, size_param: size, size: 5}, size: {least: 2}}", 2, invalid, `"count": 23`, "", true},
		{"the first page", "{number: {param: page}}", 0, invalid, "", collection.NotFound, false},
		{"the first page, counted from 0", "{number: {param: page, start: 0}}", 0, invalid, "", collection.NotFound, false},
		{"other words", "{number: {param: page}}", 5, `{"detail": "Not found."}`, `"count": 23`, collection.NotFound, false},
		{"a page that is too much", "{number: {param: page}}", 5, `{"detail": "Invalid page number: at most 5."}`, `"count": 23`, collection.NotFound, false},
		{"a page that is not counted", "{cursor: {from: next, param: page}}", 5, invalid, `"count": 23, "next": "n"`, collection.CursorExpired, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked > test.had {
					w.WriteHeader(http.StatusNotFound)
					fmt.Fprint(w, test.body)
					return
				}
				records, _ := pages(5 * (asked - 1))
				fmt.Fprintf(w, `{"items": %s, %s}`, records, strings.Replace(test.total, `"n"`, strconv.Quote(strconv.Itoa(asked)), 1))
			})
			c := open(t, server, "connector: test\nprovider: {base_url: 'https://api.test', pace: off, limits: {attempts: 1}}\nstreams: {things: {get: /things, records: items, key: id, page: "+test.page+"}}\n")
			var evidence collection.Evidence
			n, done := 0, false
			var err error
			for slice, e := range c.Slices(t.Context(), governedBy(t, c), collection.Place{Stream: "things"}, collection.Cursor{}) {
				if err = e; err != nil {
					break
				}
				n, done = n+len(slice.Records), slice.Next.Done
				evidence = evidence.With(&slice, 1, 0, collection.Redelivered{})
			}
			stop, _ := errors.AsType[*collection.Stop](err)
			switch {
			case test.want != "":
				if stop == nil || stop.Reason != test.want {
					t.Errorf("%v, want %s", err, test.want)
				}
			case err != nil || !done || n != min(5*test.had, total):
				t.Errorf("%d records, done %t, %v; want all of the %d pages", n, done, err, test.had)
			case (evidence.Contradiction() != "") != test.against:
				t.Errorf("against the end: %q, want %t", evidence.Contradiction(), test.against)
			}
		})
	}
}

// governedBy returns the client that the governor of c gives it.
func governedBy(t *testing.T, c connectors.Connector) *http.Client {
	t.Helper()
	g, err := pacing.New(pacing.Config{Provider: c.Provider(), Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: time.Minute})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g.Client()
}

// TestAnAnchorThatIsGone: a page that the provider refuses after a record that was deleted
// is a refused cursor, by any status for it. The number of a page is none, and neither is the
// first page.
func TestAnAnchorThatIsGone(t *testing.T) {
	for _, test := range []struct {
		page    string
		at      int // the request that is refused
		status  int
		reason  collection.Reason
		refused bool
	}{
		{"last_id: {param: after, field: id}", 2, http.StatusBadRequest, collection.BadPage, true},
		{"last_id: {param: after, field: id}", 2, http.StatusUnprocessableEntity, collection.BadPage, true},
		{"last_id: {param: after, field: id}", 2, http.StatusNotFound, collection.CursorExpired, false},
		{"last_id: {param: after, field: id}", 1, http.StatusBadRequest, collection.BadPage, false},
		{"number: {param: page}", 2, http.StatusBadRequest, collection.BadPage, false},
	} {
		asked := 0
		client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			if asked++; asked == test.at {
				reason := collection.BadPage // as the governor reads a status
				if test.status == http.StatusNotFound {
					reason = collection.NotFound
				}
				return nil, &collection.Stop{Reason: reason, Status: test.status}
			}
			rec := httptest.NewRecorder()
			fmt.Fprint(rec, `{"items":[{"id":"a"},{"id":"b"}]}`)
			return rec.Result(), nil
		})}
		c := open(t, &httptest.Server{}, "connector: anchors\nprovider: {base_url: \"https://anchors.test\"}\nstreams:\n  things: {get: /things, records: items, key: id, page: {"+test.page+"}}\n")
		var last error
		for _, err := range c.Slices(t.Context(), client, things0, collection.Cursor{}) {
			last = err
		}
		stop, ok := errors.AsType[*collection.Stop](last)
		if !ok || stop.Reason != test.reason || errors.Is(stop, collection.ErrCursorRefused) != test.refused {
			t.Errorf("%s, %d to request %d: the walk ends with %v, want %s, a refused cursor: %t", test.page, test.status, test.at, last, test.reason, test.refused)
		}
	}
}

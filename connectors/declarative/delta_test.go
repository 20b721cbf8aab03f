package declarative_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"collect/collection"
	"collect/connectors/connectortest"
)

// A ledger is a provider that keeps what was read: each change has a number, and a
// token stands for all changes up to one.
type ledger struct {
	way     string // a key of deltas
	changes []int  // the record of each change
	size    int
	forgot  int // tokens for fewer changes are not known any more

	mu    sync.Mutex
	asked []string
}

// deltas are the ways in which providers hand out their tokens.
var deltas = map[string]string{
	"links":   `{next: "@odata\\.nextLink", resume: "@odata\\.deltaLink"}`,                               // Microsoft Graph
	"tokens":  "{next: nextPageToken, param: pageToken, resume: nextSyncToken, resume_param: syncToken}", // Google Calendar
	"one":     "{next: nextPageToken, param: pageToken, resume: newStartPageToken}",                      // Google Drive
	"feed":    "{param: since, resume: last_seq}",                                                        // CouchDB
	"no next": "{next: next, param: since, resume: last_seq}",                                            // the same, by somebody who took it for another
	"cursor":  "{param: cursor, resume: cursor, more: has_more}",                                         // Dropbox
	"in path": "{resume: cursor, more: has_more}",
}

func (l *ledger) file() string {
	get := "/things"
	if l.way == "in path" {
		get = "/things/${page}"
	}
	return fmt.Sprintf(`
connector: ledger
provider: {base_url: "https://ledger.test"}
streams:
  things: {get: %q, key: id, records: items, page: {delta: %s}}
`, get, deltas[l.way])
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	l.mu.Lock()
	l.asked = append(l.asked, strings.TrimPrefix(r.URL.RequestURI(), "/things"))
	l.mu.Unlock()
	since, at := 0, 0 // the walk has the changes after since, and the page those after at
	read := func(text string, into *int) {
		if _, err := fmt.Sscanf(text, "t%d", into); text != "" && err != nil {
			http.Error(w, "no token: "+text, http.StatusBadRequest)
		}
	}
	switch l.way {
	case "links", "tokens", "one":
		read(q.Get("syncToken"), &since)
		at = since
		read(q.Get("pageToken"), &at)
	case "feed", "no next":
		read(q.Get("since"), &at)
	case "cursor":
		read(q.Get("cursor"), &at)
	case "in path":
		read(strings.Trim(strings.TrimPrefix(r.URL.Path, "/things"), "/"), &at)
	}
	if at > 0 && max(since, at) < l.forgot {
		http.Error(w, `{"error":"the token is too old"}`, http.StatusGone)
		return
	}
	var list []string
	end := min(at+l.size, len(l.changes))
	for n, id := range l.changes[at:end] {
		list = append(list, fmt.Sprintf(`{"id":%d,"change":%d}`, id, at+n))
	}
	token, last := fmt.Sprintf("t%d", end), end == len(l.changes)
	body := map[string]string{"items": "[" + strings.Join(list, ",") + "]"}
	quote := func(text string) string { return fmt.Sprintf("%q", text) }
	switch {
	case l.way == "links" && last:
		body["@odata.deltaLink"] = quote("https://ledger.test/things?syncToken=" + token)
	case l.way == "links":
		body["@odata.nextLink"] = quote("https://ledger.test/things?syncToken=" + q.Get("syncToken") + "&pageToken=" + token)
	case l.way == "tokens" && last:
		body["nextSyncToken"] = quote(token)
	case l.way == "one" && last:
		body["newStartPageToken"] = quote(token)
	case l.way == "tokens", l.way == "one":
		body["nextPageToken"] = quote(token)
	case l.way == "feed", l.way == "no next":
		body["last_seq"] = quote(token)
	default:
		body["cursor"], body["has_more"] = quote(token), fmt.Sprint(!last)
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(body)) {
		members = append(members, fmt.Sprintf("%q:%s", name, body[name]))
	}
	fmt.Fprintf(w, "{%s}", strings.Join(members, ","))
}

// TestDeltaHasEachChangeOnce walks again and again while changes are made, and is
// cut off at any page: each walk goes on where the one before ended.
func TestDeltaHasEachChangeOnce(t *testing.T) {
	for way := range deltas {
		t.Run(way, func(t *testing.T) {
			cut := 0
			for seed := range uint64(60) {
				rng := rand.New(rand.NewPCG(seed, 5))
				l := &ledger{way: way, size: 1 + rng.IntN(7)}
				change := func(n int) {
					for range n {
						l.changes = append(l.changes, rng.IntN(30))
					}
				}
				change(rng.IntN(40))
				c := open(t, &httptest.Server{}, l.file())
				client := &http.Client{Transport: direct{l}}
				had := map[string]int{}
				at := collection.Cursor{}
				for range 6 {
					due := len(l.changes)
					at = collection.Cursor{Since: at.Since, High: at.High}
					for !at.Done {
						for slice, err := range c.Slices(t.Context(), client, things0, at) {
							if err != nil {
								t.Fatal(err)
							}
							if len(slice.Rejected) > 0 {
								t.Fatalf("%d changes of records that changed again are rejected", len(slice.Rejected))
							}
							for _, r := range slice.Records {
								had[string(r.Data)]++
							}
							at = slice.Next
							if rng.IntN(3) == 0 {
								cut++
								break
							}
						}
						change(rng.IntN(3))
					}
					for n, id := range l.changes[:due] {
						data := fmt.Sprintf(`{"id":%d,"change":%d}`, id, n)
						later := slices.Contains(l.changes[n+1:], id) // on one page, the last one counts
						if had[data] > 1 || had[data] == 0 && !later {
							t.Fatalf("seed %d: change %s came %d times, want once", seed, data, had[data])
						}
					}
				}
			}
			if cut == 0 {
				t.Error("no walk was cut off")
			}
		})
	}
}

// TestDeltaConforms runs the suite of the port.
func TestDeltaConforms(t *testing.T) {
	for way := range deltas {
		t.Run(way, func(t *testing.T) {
			l := &ledger{way: way, size: 3}
			for n := range 17 {
				l.changes = append(l.changes, n)
			}
			connectortest.Test(t, open(t, &httptest.Server{}, l.file()), &http.Client{Transport: direct{l}})
		})
	}
}

// TestDeltaThatIsForgotten: a token that the provider no longer knows, of a walk or
// of a page, calls for a walk of everything.
func TestDeltaThatIsForgotten(t *testing.T) {
	for way := range deltas {
		l := &ledger{way: way, size: 3, changes: make([]int, 9)}
		c := open(t, &httptest.Server{}, l.file())
		var slices []collection.Slice
		for slice, err := range c.Slices(t.Context(), &http.Client{Transport: direct{l}}, things0, collection.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			slices = append(slices, slice)
		}
		l.forgot = 100
		l.changes = make([]int, 50)
		for name, at := range map[string]collection.Cursor{"a walk": {Since: slices[len(slices)-1].Next.Since}, "a page": slices[0].Next} {
			var err error
			for _, err = range c.Slices(t.Context(), l.governed(), things0, at) {
				break
			}
			stop, ok := errors.AsType[*collection.Stop](err)
			if !ok || stop.Reason != collection.CursorExpired || !errors.Is(err, collection.ErrMarkExpired) {
				t.Errorf("%s: the token of %s is refused, and the error is %v", way, name, err)
			}
		}
	}
}

// governed returns a client that tells of refusals as the governed one does.
func (l *ledger) governed() *http.Client {
	return &http.Client{Transport: refusing{direct{l}}}
}

type refusing struct{ direct }

func (f refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := f.direct.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusGone {
		return nil, &collection.Stop{Reason: collection.Gone, Status: resp.StatusCode}
	}
	return resp, err
}

// TestDeltaWithoutItsToken is a bad page: the next walk could not begin.
func TestDeltaWithoutItsToken(t *testing.T) {
	for way, body := range map[string]string{
		"links": `{"items":[]}`, "tokens": `{"items":[],"nextSyncToken":null}`, "feed": `{"items":[{"id":1}],"last":"5"}`,
		"cursor": `{"items":[],"cursor":"x"}`, "one": `{"items":[],"newStartPageToken":{"a":1}}`,
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		c := open(t, server, (&ledger{way: way}).file())
		for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
			if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.BadPage {
				t.Errorf("%s: %s leads to %+v and error %v, want a bad page", way, body, slice.Next, err)
			}
		}
	}
}

// TestDeltaWithoutItsParam: a token that is no URL needs a parameter, and that is
// said, and not that the provider forgot the token.
func TestDeltaWithoutItsParam(t *testing.T) {
	for body, want := range map[string]string{
		`{"items":[{"id":1}],"nextPageToken":"CiAKGjBpNDd2Nmp2Zml2cXRwYjBpOXA"}`: "`nextPageToken` is a token and no URL: name the parameter that takes it, with `param` in `delta`",
		`{"items":[{"id":1}],"nextSyncToken":"CPDAlvWDx70CEPDA"}`:                "`nextSyncToken` is a token and no URL: name the parameter that takes it, with `param` in `delta`",
	} {
		records, stop := walkAll(t, replay("", body), file("records: items, page: {delta: {next: nextPageToken, resume: nextSyncToken}}"))
		ends(t, records, 0, stop, want)
	}
	records, stop := walkAll(t, replay("", `{"items":[{"id":1}],"next":"more?t=1"}`, `{"items":[{"id":2}],"resume":"/x"}`, `{"items":[],"resume":"/x"}`), file("records: items, page: {delta: {next: next, resume: resume}}"))
	ends(t, records, 2, stop, "")
}

// TestDeltaThatDoesNotEnd: a token that comes again, pages without records that lead
// on for ever, and a token that is too long end the walk, and none is stored.
func TestDeltaThatDoesNotEnd(t *testing.T) {
	for name, hostile := range map[string]struct {
		way    string
		body   func(n int) string
		reason collection.Reason
	}{
		"circle":    {"feed", func(n int) string { return fmt.Sprintf(`{"items":[{"id":%d}],"last_seq":"t%d"}`, n, n%3) }, collection.BadPage},
		"empty":     {"cursor", func(n int) string { return fmt.Sprintf(`{"items":[],"cursor":"t%d","has_more":true}`, n) }, collection.BadPage},
		"long":      {"one", func(int) string { return `{"items":[],"newStartPageToken":"` + strings.Repeat("t", 20_000) + `"}` }, collection.TooLarge},
		"elsewhere": {"links", func(int) string { return `{"items":[],"@odata.deltaLink":"https://other.test/x"}` }, collection.BadPage},
	} {
		n := 0
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			n++
			fmt.Fprint(w, hostile.body(n))
		})
		c := open(t, server, (&ledger{way: hostile.way}).file())
		var last error
		for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
			if last = err; slice.Next.Done || n > 100 {
				break
			}
		}
		if stop, ok := errors.AsType[*collection.Stop](last); !ok || stop.Reason != hostile.reason {
			t.Errorf("%s: after %d pages the error is %v, want %s", name, n, last, hostile.reason)
		}
	}
}

// TestDeltaNumbersNothing: where the tokens count the changes, as CouchDB's do, a record
// that changes moves to the end, where it is read again. So no walk can miss one, and
// what a walk of everything lacks is gone.
func TestDeltaNumbersNothing(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		since, _ := strconv.Atoi(r.URL.Query().Get("since"))
		items := []string{}
		for n := since; n < min(since+3, 7); n++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, n))
		}
		fmt.Fprintf(w, `{"items":[%s],"last":%d}`, strings.Join(items, ","), since+len(items))
	})
	c, pages := open(t, server, file("records: items, page: {delta: {param: since, resume: last}}")), 0
	for slice, err := range c.Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		if pages++; slice.Told.Counted {
			t.Errorf("page %d is told to be numbered", pages)
		}
	}
	if pages != 4 {
		t.Errorf("%d pages, want 4", pages)
	}
}

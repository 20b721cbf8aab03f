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

	"collect/collection"
	"collect/connectors/connectortest"
)

const scrollFile = `
connector: search
provider: {base_url: "https://search.test"}
streams:
  things:
    post: /_search
    json: {size: 5}
    records: hits
    key: id
    page: {scroll: {from: scroll, post: /scroll, json: {id: "${page}"}}}
`

// TestScrollConforms runs the suite of the port, against a provider whose ids say where
// the scroll is: one at rest answers the same request in the same way.
func TestScrollConforms(t *testing.T) {
	c := open(t, &httptest.Server{}, scrollFile)
	connectortest.Test(t, c, &http.Client{Transport: direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ ID string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		if _, repeats := r.Header["Idempotency-Key"]; repeats != (r.URL.Path == "/_search") {
			t.Errorf("a request for %s may be repeated: %t", r.URL.Path, repeats)
		}
		from, _ := strconv.Atoi(strings.TrimPrefix(asked.ID, "at:"))
		records, _ := pages(from)
		fmt.Fprintf(w, `{"hits": %s, "scroll": "at:%d"}`, records, min(from+5, total))
	})}})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestScrollThatIsRefused is sent again after a 429 alone.
func TestScrollThatIsRefused(t *testing.T) {
	for status, want := range map[int]int{http.StatusTooManyRequests: 2, http.StatusServiceUnavailable: 1} {
		n := 0
		c := open(t, &httptest.Server{}, scrollFile)
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			rec := httptest.NewRecorder()
			switch {
			case r.URL.Path == "/_search":
				fmt.Fprintf(rec, `{"hits": %s, "scroll": "s"}`, things(1, 5))
			default:
				if n++; n == 1 {
					return nil, &collection.Stop{Reason: map[int]collection.Reason{429: collection.RateLimited, 503: collection.UpstreamPressure}[status], Status: status}
				}
				fmt.Fprint(rec, `{"hits": [], "scroll": "s"}`)
			}
			return rec.Result(), nil
		})}
		var last error
		for _, err := range c.Slices(t.Context(), client, things0, collection.Cursor{}) {
			last = err
		}
		if n != want || (last == nil) != (want == 2) {
			t.Errorf("after a %d the scroll was asked for %d times and ended with %v, want %d times", status, n, last, want)
		}
	}
}

// TestScrollWithoutItsID is a bad page.
func TestScrollWithoutItsID(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"hits": %s}`, things(1, 5)) })
	for _, err := range open(t, server, scrollFile).Slices(t.Context(), server.Client(), things0, collection.Cursor{}) {
		if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.BadPage || !strings.Contains(stop.Detail, "no `scroll`") {
			t.Errorf("the error is %v, want a bad page that names the path", err)
		}
	}
}

package pacing_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/response"
)

// A canned provider answers each request with a response as it stands, which
// may claim what is not so.
type canned struct {
	header http.Header
	status int // 200 if it is 0
	length int64
	body   string
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: c.length, Body: io.NopCloser(strings.NewReader(c.body))}
	if c.status != 0 {
		resp.StatusCode = c.status
	}
	maps.Copy(resp.Header, c.header)
	return resp, nil
}

// TestLimitsToTheByte: what is as large as it may be is taken, and a byte more is
// refused, by what is announced before any of it is read.
func TestLimitsToTheByte(t *testing.T) {
	const limit = 4096
	full := strings.Repeat("x", limit)
	headed := func(n int) http.Header { return http.Header{"X-P": {strings.Repeat("x", n-len("X-P: \r\n"))}} }
	for _, tc := range []struct {
		name   string
		canned canned
		method string
		body   int64 // the limit; 4096 if it is 0
		want   string
	}{
		{"a body at the limit", canned{length: limit, body: full}, "GET", 0, ""},
		{"a body over it", canned{length: limit + 1, body: full + "x"}, "GET", 0, "the body is larger than 4096 bytes"},
		{"a body that claims to be over it", canned{length: limit + 1, body: "x"}, "GET", 0, "the body is larger than 4096 bytes"},
		{"a limit in MiB", canned{length: 1<<20 + 1}, "GET", 1 << 20, "the body is larger than 1 MiB"},
		{"a limit in parts of one", canned{length: 3 << 20}, "GET", 3 << 19, "the body is larger than 1572864 bytes"},
		{"a header at the limit", canned{header: headed(200)}, "GET", 0, ""},
		{"a header over it", canned{header: headed(201)}, "GET", 0, "the header is larger than 200 bytes"},
		{"the length of no body", canned{length: 5}, "HEAD", 0, ""},
		{"the length of what has not changed", canned{status: 304, length: 5}, "GET", 0, ""},
		{"less than its length", canned{length: 5, body: "four"}, "GET", 0, "the body ended early"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.body == 0 {
				tc.body = limit
			}
			g := govern(t, pacing.Config{Base: tc.canned, Provider: collection.Provider{
				Unpaced: true, Limits: collection.Limits{Attempts: 1, Body: tc.body, Headers: 200},
			}})
			req, err := http.NewRequestWithContext(t.Context(), tc.method, acme, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := g.Client().Do(req)
			got := ""
			if stop := asStop(err); stop != nil {
				got = stop.Detail
			} else if err != nil {
				t.Fatal(err)
			} else {
				resp.Body.Close()
			}
			if got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestTransportHasTimeouts: no connection is waited for without end, and as many
// are kept as are used.
func TestTransportHasTimeouts(t *testing.T) {
	for concurrency, kept := range map[int]int{1: http.DefaultMaxIdleConnsPerHost, 8: 8} {
		tr := pacing.Transport(concurrency, collection.Limits{Headers: 1000})
		if tr.TLSHandshakeTimeout < time.Second || tr.IdleConnTimeout < time.Second {
			t.Errorf("a handshake may take %v, and a connection may be idle for %v", tr.TLSHandshakeTimeout, tr.IdleConnTimeout)
		}
		if tr.MaxIdleConnsPerHost != kept || tr.MaxResponseHeaderBytes <= 1000 {
			t.Errorf("%d connections are kept, want %d; headers end at %d bytes, want some over 1000", tr.MaxIdleConnsPerHost, kept, tr.MaxResponseHeaderBytes)
		}
	}
}

// TestRetryTokensAreWhole: what is told of the retries that are left is in
// retries, not in the parts that they are counted in.
func TestRetryTokensAreWhole(t *testing.T) {
	b := pacing.NewBudget(pacing.BudgetLimits{RetryTokens: 4})
	b.TakeToken()
	left, capacity := b.RetryTokens()
	_, _, told := b.Spent(time.Now())
	most, _ := b.Limit(collection.RetryBudget)
	if left != 3 || told != 3 || capacity != 4 || most != 4 {
		t.Errorf("left %v, told %v, of %v, told %v; want 3 of 4", left, told, capacity, most)
	}
}

// TestWhatASilenceConcerns: the account, unless the provider says that it is the
// route's.
func TestWhatASilenceConcerns(t *testing.T) {
	used := []response.Quota{{Name: "search", Limit: 30}}
	for _, tc := range []struct {
		name string
		r    response.Reading
		want bool
	}{
		{"nothing is named", response.Reading{}, true},
		{"the route is held", response.Reading{Route: "b1", Key: "b1"}, false},
		{"another is held", response.Reading{Route: "b1", Key: "global"}, true},
		{"the quota of the route is used up", response.Reading{Route: "search", Windows: used}, false},
		{"another quota is", response.Reading{Route: "core", Windows: used}, true},
		{"some of it is left", response.Reading{Route: "search", Windows: []response.Quota{{Name: "search", Limit: 30, Remaining: 1}}}, true},
	} {
		if got := pacing.Wide(tc.r); got != tc.want {
			t.Errorf("%s: of the account: %t, want %t", tc.name, got, tc.want)
		}
	}
}

// TestOriginIsNamed by its place in the list, counted from one.
func TestOriginIsNamed(t *testing.T) {
	_, err := pacing.New(pacing.Config{Provider: collection.Provider{Name: "acme", Origins: []string{"https://a.test", "ftp://b.test"}}})
	if err == nil || !strings.Contains(err.Error(), "origin 2 ") {
		t.Errorf("%v, want one that names origin 2", err)
	}
	_, err = pacing.New(pacing.Config{Provider: collection.Provider{Name: "acme", Origins: []string{"https://a.test/path"}}})
	if err == nil {
		t.Error("an origin with a path is taken")
	}
}

package pacing_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

func gzipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.Bytes()
}

// TestBodies reads what providers send, over real connections: whole,
// inflated and within the limit, or not at all.
func TestBodies(t *testing.T) {
	page := `{"records":[` + strings.Repeat(`{"id":1},`, 100) + `{"id":2}]}`
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    string            // the body
		reason  collection.Reason // or the stop
		detail  string
	}{
		{"plain", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, page) }, page, "", ""},
		{"gzip", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				w.WriteHeader(406)
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(gzipped(page))
		}, page, "", ""},
		{"gzip by its old name", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "x-gzip")
			w.Write(gzipped(page))
		}, page, "", ""},
		{"empty gzip", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, "", "", ""},
		{"no content", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }, "", "", ""},
		{"at the limit", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 4096)) }, strings.Repeat("x", 4096), "", ""},
		{"over the limit", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 4097)) },
			"", collection.TooLarge, "the body is larger than 4096 bytes"},
		{"over the limit, chunked", func(w http.ResponseWriter, r *http.Request) {
			for range 10 {
				io.WriteString(w, strings.Repeat("x", 1000))
				w.(http.Flusher).Flush()
			}
		}, "", collection.TooLarge, "the body is larger than 4096 bytes"},
		{"a bomb", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(gzipped(strings.Repeat("x", 1<<20)))
		}, "", collection.TooLarge, "the body is larger than 4096 bytes"},
		{"truncated", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "short")
		}, "", collection.UpstreamPressure, "the body ended early"},
		{"truncated gzip", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(gzipped(page)[:40])
		}, "", collection.UpstreamPressure, "the body ended early"},
		{"no gzip at all", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, page)
		}, "", collection.BadPage, "the body is not gzip, as its header says"},
		{"dropped", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
			"", collection.UpstreamPressure, "the connection was closed before the answer"},
		{"another protocol, on a connection that stays open", func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			io.Copy(io.Discard, conn) // until the other side gives up
		}, "", collection.BadPage, "it switched to another protocol, which was not asked for"},
		{"another encoding", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, page)
		}, "", collection.BadPage, "the body has an encoding that was not asked for"},
		{"a large header", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Padding", strings.Repeat("x", 9000))
		}, "", collection.TooLarge, "the header is larger than 8192 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := httptest.NewServer(tc.handler)
			defer srv.Close()
			g := govern(t, pacing.Config{Provider: collection.Provider{
				Unpaced: true, Origins: []string{srv.URL},
				Limits: collection.Limits{Attempts: 1, Body: 4096, Headers: 8192},
			}})
			resp, err := g.Client().Get(srv.URL)
			if tc.reason != "" {
				if stop := asStop(err); stop == nil || stop.Reason != tc.reason || stop.Detail != tc.detail {
					t.Fatalf("%v, want %s: %s", err, tc.reason, tc.detail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != tc.want || resp.ContentLength != int64(len(body)) || resp.Header.Get("Content-Encoding") != "" && tc.want != "" {
				t.Errorf("body of %d bytes, length %d, encoding %q, %v, want %d bytes",
					len(body), resp.ContentLength, resp.Header.Get("Content-Encoding"), err, len(tc.want))
			}
		})
	}
}

// TestTruncatedBodyIsRetried: half a page is no page.
func TestTruncatedBodyIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			if n++; n == 1 {
				io.WriteString(w, "[1")
				return
			}
			io.WriteString(w, "[1]")
		})
		resp, err := govern(t, pacing.Config{Base: m}).Client().Get(acme)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); string(body) != "[1]" || n != 2 {
			t.Errorf("body %q after %d attempts, want [1] after 2", body, n)
		}
	})
}

// TestTimeouts: the header and the whole answer have their own.
func TestTimeouts(t *testing.T) {
	for _, tc := range []struct {
		name         string
		header, body time.Duration
		want         string
		after        time.Duration
	}{
		{"silent", 40 * time.Second, 0, "no answer in time", 30 * time.Second},
		{"slow", 29 * time.Second, 40 * time.Second, "the answer did not end in time", 60 * time.Second},
		{"just in time", 29 * time.Second, 30 * time.Second, "", 59 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := govern(t, pacing.Config{Base: tardy{tc.header, tc.body}, Provider: collection.Provider{
					Unpaced: true, Limits: collection.Limits{Attempts: 1},
				}})
				start := time.Now()
				status, err := fetch(t, g)
				if got := time.Since(start); got != tc.after {
					t.Errorf("ended after %v, want %v", got, tc.after)
				}
				if stop := asStop(err); tc.want != "" && (stop == nil || stop.Detail != tc.want) || tc.want == "" && status != 200 {
					t.Errorf("%d, %v, want %q", status, err, tc.want)
				}
			})
		})
	}
}

// A tardy provider takes its time for the header and for the body.
type tardy struct{ header, body time.Duration }

func (p tardy) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(p.header):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	pr, pw := io.Pipe()
	go func() {
		select {
		case <-time.After(p.body):
			fmt.Fprint(pw, "{}")
			pw.Close()
		case <-r.Context().Done():
			pw.CloseWithError(r.Context().Err())
		}
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1, Body: pr}, nil
}

// TestTimeLimitCutsNoRequest: one in flight has its own limits, whatever the time
// of its run. One without an answer is not sent again: the time is up.
func TestTimeLimitCutsNoRequest(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer tardy
		want   time.Duration // 0: it is answered
	}{
		{"no header", tardy{45 * time.Second, 0}, 40 * time.Second},
		{"no end of the body", tardy{time.Second, time.Minute}, 50 * time.Second},
		{"a late header", tardy{39 * time.Second, 0}, 0},
		{"a late end of the body", tardy{time.Second, 48 * time.Second}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var j journal
				b := pacing.NewBudget(pacing.BudgetLimits{MaxTime: 10 * time.Second})
				g := govern(t, pacing.Config{Base: tc.answer, Budget: b, Observe: j.observe, Provider: collection.Provider{
					Unpaced: true, Limits: collection.Limits{Header: 40 * time.Second, Request: 50 * time.Second}}})
				start := time.Now()
				status, err := fetch(t, g)
				g.Close()
				if b.Tally().Requests != 1 {
					t.Errorf("%d requests are counted, want 1", b.Tally().Requests)
				}
				if tc.want == 0 {
					if err != nil || status != 200 {
						t.Errorf("%d, %v, want an answer", status, err)
					}
					return
				}
				if got := time.Since(start); got != tc.want {
					t.Errorf("it ended after %v, want %v", got, tc.want)
				}
				if stop := asStop(err); stop == nil || stop.Reason != collection.WallClock || stop.Detail == "" {
					t.Errorf("%v, want wall_clock, and why", err)
				}
				if got := len(j.of(collection.BudgetExhausted)); got != 1 {
					t.Errorf("told %d times that the time is up, want once", got)
				}
				if got := g.Status(); got.Breaker != gate.Closed || got.PerSecond != 0 {
					t.Errorf("the provider is blamed: %+v", got)
				}
			})
		})
	}
}

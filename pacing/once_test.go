package pacing_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

// hangsUp is a server that closes the connection in place of every second answer, and counts the requests.
func hangsUp(t *testing.T) (srv *httptest.Server, arrived *atomic.Int64) {
	arrived = new(atomic.Int64)
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 != (r.Method == http.MethodPost) || len(r.TransferEncoding) > 0 {
			t.Errorf("%s arrived with a length of %d and Transfer-Encoding %q", r.Method, r.ContentLength, r.TransferEncoding)
		}
		if arrived.Add(1)%2 == 1 {
			io.WriteString(w, `{"ok":true}`)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	}))
	t.Cleanup(srv.Close)
	return srv, arrived
}

// TestHangingUpIsNoFreeRetry: a limiter that closes the connection, as nginx does with 444, gets no request that is
// not counted.
func TestHangingUpIsNoFreeRetry(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		srv, arrived := hangsUp(t)
		const most = 7
		b := pacing.NewBudget(pacing.BudgetLimits{MaxRequests: most})
		g := govern(t, pacing.Config{Budget: b, Provider: collection.Provider{
			Origins: []string{srv.URL}, Unpaced: true, Limits: collection.Limits{Attempts: 1},
		}, Base: pacing.NewTransport(collection.Provider{}, 1)})
		failed := 0
		for range 2 * most {
			req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/records", nil)
			if err != nil {
				t.Fatal(err)
			}
			if method == http.MethodPost {
				req.Header["Idempotency-Key"] = []string{"1"}
				req.Body, req.GetBody = io.NopCloser(strings.NewReader("{}")), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("{}")), nil }
				req.ContentLength = 2
			}
			resp, err := g.Client().Do(req)
			if stop, ok := errors.AsType[*collection.Stop](err); ok && stop.Reason == collection.RequestCap {
				break
			}
			if err != nil {
				failed++
				continue
			}
			resp.Body.Close()
		}
		if got := b.Tally().Requests; arrived.Load() != most || got != most || failed != most/2 {
			t.Errorf("%s: %d requests arrived and %d were counted, of which %d failed: want %d, %d and %d", method, arrived.Load(), got, failed, most, most, most/2)
		}
	}
}

// TestConnectionsThatEnd: what is sent again, and what the end of a connection says, depend on when the server closes it.
func TestConnectionsThatEnd(t *testing.T) {
	for _, tc := range []struct {
		name   string
		idle   time.Duration // before the second request
		unread bool          // the server closes the connection before it, and not when it has come
		want   []int         // requests that each connection brings
		fails  bool
		isIdle bool
	}{
		{"closed for the request", 0, false, []int{2}, true, false},
		{"closed for the request, a second later", time.Second, false, []int{2}, true, false},
		{"closed as idle while the request is on its way", 2 * time.Second, false, []int{2}, true, true},
		{"closed as idle before", 2 * time.Second, true, []int{1, 1}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []int
				dial := func(context.Context, string, string) (net.Conn, error) {
					client, server := net.Pipe()
					n := len(got)
					got = append(got, 0)
					go func() {
						defer server.Close()
						in := bufio.NewReader(server)
						for {
							if _, err := http.ReadRequest(in); err != nil {
								return
							}
							if got[n]++; got[n] == 2 {
								return
							}
							io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
							if tc.unread && n == 0 {
								time.Sleep(time.Second)
								return
							}
						}
					}()
					return client, nil
				}
				base := &http.Transport{DialContext: dial}
				defer base.CloseIdleConnections()
				ask := func() error {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://acme.test/", nil)
					if err != nil {
						t.Fatal(err)
					}
					resp, err := pacing.Once(base).RoundTrip(req)
					if err == nil {
						resp.Body.Close()
					}
					return err
				}
				if err := ask(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tc.idle)
				err := ask()
				synctest.Wait()
				if !slices.Equal(got, tc.want) || (err != nil) != tc.fails || pacing.IsIdle(err) != tc.isIdle {
					t.Errorf("the connections brought %d requests, and the second ended with %v (idle: %v); want %d, failed: %v, idle: %v",
						got, err, pacing.IsIdle(err), tc.want, tc.fails, tc.isIdle)
				}
			})
		})
	}
}

// TestUnsentIsSentAgain: a request that was not written to a connection, since that had ended, takes another one.
func TestUnsentIsSentAgain(t *testing.T) {
	for _, reused := range []bool{false, true} {
		tries := 0
		base := sends(func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			if tries++; tries == 1 {
				trace.GotConn(httptrace.GotConnInfo{Reused: reused})
				return nil, io.EOF
			}
			trace.GotConn(httptrace.GotConnInfo{})
			trace.WroteRequest(httptrace.WroteRequestInfo{})
			return &http.Response{StatusCode: 200, ProtoMajor: 1, Body: http.NoBody}, nil
		})
		_, err := pacing.Once(base).RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://acme.test/", nil))
		if want := map[bool]int{false: 1, true: 2}[reused]; tries != want || (err == nil) != reused {
			t.Errorf("reused %v: %d tries, want %d; %v", reused, tries, want, err)
		}
	}
}

// A closing limiter closes the connection for what is too fast, and says nothing.
type closing struct {
	mu             sync.Mutex
	fits           func(now time.Time) bool
	busy           bool // it answers with a bare 503 in place of closing
	granted, above int
}

func (c *closing) RoundTrip(*http.Request) (*http.Response, error) {
	c.mu.Lock()
	fits := c.fits(time.Now())
	if fits {
		c.granted++
	} else {
		c.above++
	}
	c.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	status := http.StatusOK
	switch {
	case !fits && c.busy:
		status = http.StatusServiceUnavailable
	case !fits:
		return nil, io.EOF
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, ProtoMajor: 1, Header: http.Header{}}, nil
}

// spaced allows requests that come a fifth of a second apart, as nginx does with limit_req and limit_req_status 444.
func spaced() func(time.Time) bool {
	var next time.Time
	return func(now time.Time) bool {
		if now.Before(next) {
			return false
		}
		next = now.Add(time.Second / 5)
		return true
	}
}

// counted allows n requests in any span per and counts those that it refuses, as HAProxy does with http_req_rate and
// reject.
func counted(n int, per time.Duration) func(time.Time) bool {
	var came []time.Time
	return func(now time.Time) bool {
		came = slices.DeleteFunc(append(came, now), func(at time.Time) bool { return now.Sub(at) >= per })
		return len(came) <= n
	}
}

// boxed allows n requests in any span per, and then none for that long.
func boxed(n int, per time.Duration) func(time.Time) bool {
	fits, until := counted(n, per), time.Time{}
	return func(now time.Time) bool {
		if now.Before(until) {
			return false
		}
		if !fits(now) {
			until = now.Add(per)
			return false
		}
		return true
	}
}

// TestBusyLimiterIsLearned: a provider that answers what is too fast with a bare 503, and counts it as well or shuts out
// for a while, is no provider that has trouble.
func TestBusyLimiterIsLearned(t *testing.T) {
	for name, limit := range map[string]func() func(time.Time) bool{
		"10 in 10 s":               func() func(time.Time) bool { return counted(10, 10*time.Second) },
		"20 in 20 s":               func() func(time.Time) bool { return counted(20, 20*time.Second) },
		"60 in 60 s":               func() func(time.Time) bool { return counted(60, time.Minute) },
		"20 in 20 s, and shut out": func() func(time.Time) bool { return boxed(20, 20*time.Second) },
		"60 in 60 s, and shut out": func() func(time.Time) bool { return boxed(60, time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := &closing{fits: limit(), busy: true}
				g := govern(t, pacing.Config{Provider: collection.Provider{Limits: collection.Limits{Attempts: 3}}, Base: limiter})
				var work sync.WaitGroup
				begun := time.Now()
				for range 4 {
					work.Go(func() {
						for time.Since(begun) < 10*time.Minute {
							if resp, err := g.Client().Get(acme + "/records"); err == nil {
								resp.Body.Close()
							}
						}
					})
				}
				work.Wait()
				if limiter.granted < 300 || limiter.above > limiter.granted/10 {
					t.Errorf("%s: %d answered in 10 min and %d refused, want 300 of 600 and one in ten at most", name, limiter.granted, limiter.above)
				}
			})
		})
	}
}

// TestClosingLimiterIsLearned: a pace at which the provider closes connections is too fast, also where its owner declared it.
func TestClosingLimiterIsLearned(t *testing.T) {
	for name, limit := range map[string]func() func(time.Time) bool{"spaced": spaced, "counted": func() func(time.Time) bool { return counted(50, 10*time.Second) }} {
		for _, ceilings := range [][]collection.Ceiling{nil, {{Count: 10, Per: time.Second}}} {
			synctest.Test(t, func(t *testing.T) {
				limiter := &closing{fits: limit()}
				g := govern(t, pacing.Config{Provider: collection.Provider{Ceilings: ceilings, Limits: collection.Limits{Attempts: 3}}, Base: limiter})
				var work sync.WaitGroup
				begun := time.Now()
				for range 8 {
					work.Go(func() {
						for time.Since(begun) < 5*time.Minute {
							if resp, err := g.Client().Get(acme + "/records"); err == nil {
								resp.Body.Close()
							}
						}
					})
				}
				work.Wait()
				if limiter.granted < 900 || limiter.above < 3 || limiter.above > limiter.granted/20 {
					t.Errorf("%s, ceilings %v: %d answered in 5 min and %d closed, want 900 of 1500 and one in 20 at most", name, ceilings, limiter.granted, limiter.above)
				}
			})
		}
	}
}

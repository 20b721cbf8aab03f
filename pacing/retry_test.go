package pacing_test

import (
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"collect/collection"
	"collect/pacing"
)

// TestFullJitter: evenly drawn from zero to the cap, which doubles to a minute.
func TestFullJitter(t *testing.T) {
	for n, most := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		most *= time.Second
		if got := pacing.Backoff(n, 0); got != 0 {
			t.Errorf("the least backoff after %d retries is %v, want 0", n, got)
		}
		if got, want := pacing.Backoff(n, 0.5), most/2; got != want {
			t.Errorf("the middle backoff after %d retries is %v, want %v", n, got, want)
		}
		if got := pacing.Backoff(n, 1-1e-12); got > most || got < most-ms {
			t.Errorf("the longest backoff after %d retries is %v, want %v", n, got, most)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n, u := rapid.Int().Draw(t, "n"), rapid.Float64Range(0, 1).Draw(t, "u")
		if got := pacing.Backoff(n, u); got < 0 || got > time.Minute {
			t.Fatalf("Backoff(%d, %v) = %v", n, u, got)
		}
	})
}

// TestWhatIsRetried sends each status until the attempts are used up.
func TestWhatIsRetried(t *testing.T) {
	for _, tc := range []struct {
		status   int
		attempts int
		want     collection.Reason // "" for a response
	}{
		{200, 1, ""}, {204, 1, ""}, {304, 1, ""},
		{400, 1, collection.BadPage}, {401, 1, collection.Auth}, {402, 1, collection.BadPage}, {404, 1, collection.NotFound},
		{405, 1, collection.BadPage}, {410, 1, collection.Gone}, {413, 1, collection.TooLarge},
		{422, 1, collection.BadPage}, {451, 1, collection.BadPage}, {501, 1, collection.BadPage}, {505, 1, collection.BadPage},
		{408, 3, collection.UpstreamPressure}, {409, 3, collection.UpstreamPressure}, {423, 3, collection.UpstreamPressure},
		{425, 3, collection.UpstreamPressure}, {500, 3, collection.UpstreamPressure}, {502, 3, collection.UpstreamPressure},
		{503, 3, collection.UpstreamPressure}, {504, 3, collection.UpstreamPressure}, {529, 3, collection.UpstreamPressure},
		{599, 3, collection.UpstreamPressure},
		{429, 3, collection.RateLimited}, {420, 3, collection.RateLimited}, {430, 3, collection.RateLimited},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(statuses(tc.status))
			g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Limits: collection.Limits{Attempts: 3}}})
			if tc.want == "" {
				if got, err := fetch(t, g); got != tc.status || err != nil {
					t.Errorf("%d: %d, %v, want the response", tc.status, got, err)
				}
				return
			}
			stop := stopOf(t, g)
			if stop.Reason != tc.want || stop.Status != tc.status {
				t.Errorf("%d: %v, want %s (%[1]d)", tc.status, stop, tc.want)
			}
			if got := m.count(); got != tc.attempts {
				t.Errorf("%d: %d attempts, want %d", tc.status, got, tc.attempts)
			}
			if got := time.Since(m.arrivals[len(m.arrivals)-1]); got != 0 {
				t.Errorf("%d: slept %v after the last attempt", tc.status, got)
			}
		})
	}
}

// TestOne401MayBeChance: in a run that was answered well it is asked about once more, after a moment.
func TestOne401MayBeChance(t *testing.T) {
	for _, tc := range []struct {
		name     string
		answers  []int
		attempts int
		method   string
		want     collection.Reason // of the second request; "" for a response
		sent     int
		took     time.Duration
	}{
		{"one", []int{200, 401, 200}, 5, "GET", "", 3, 5 * time.Second},
		{"two", []int{200, 401, 401}, 5, "GET", collection.Auth, 3, 5 * time.Second},
		{"the first request", []int{401}, 5, "GET", collection.Auth, 1, 0},
		{"one attempt", []int{200, 401}, 1, "GET", collection.Auth, 2, 0},
		{"what may not be repeated", []int{200, 401}, 5, "POST", collection.Auth, 2, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(statuses(tc.answers...))
			g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Unpaced: true, Limits: collection.Limits{Attempts: tc.attempts}}})
			fetch(t, g)
			start := time.Now()
			req, _ := http.NewRequestWithContext(t.Context(), tc.method, acme+"/records", nil)
			resp, err := g.Client().Do(req)
			var got collection.Reason
			if stop, ok := errors.AsType[*collection.Stop](err); ok {
				got = stop.Reason
			} else if err != nil || resp.StatusCode != 200 {
				t.Fatalf("%s: %v, %v", tc.name, resp, err)
			}
			if took := time.Since(start); got != tc.want || m.count() != tc.sent || took != tc.took {
				t.Errorf("%s: it ended with %q after %d requests and %v, want %q, %d, %v", tc.name, got, m.count(), took, tc.want, tc.sent, tc.took)
			}
			if fetch(t, g); tc.want != "" && m.count() != tc.sent {
				t.Errorf("%s: another request left with a credential that is refused", tc.name)
			}
			if got := !g.Status().RejectedAt.IsZero(); got != (tc.want != "") {
				t.Errorf("%s: the credential is rejected: %t", tc.name, got)
			}
		})
	}
}

// TestOnlyIdempotentRequestsAreRetried sends one request of each kind to a
// provider that fails once.
func TestOnlyIdempotentRequestsAreRetried(t *testing.T) {
	for _, tc := range []struct {
		method string
		key    bool
		want   int
	}{
		{"GET", false, 2}, {"HEAD", false, 2}, {"OPTIONS", false, 2}, {"PUT", false, 2}, {"DELETE", false, 2},
		{"POST", false, 1}, {"PATCH", false, 1}, {"POST", true, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var bodies []string
			fail := statuses(500, 200)
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
				fail(w, r)
			})
			g := govern(t, pacing.Config{Base: m})
			req, _ := http.NewRequestWithContext(t.Context(), tc.method, acme, strings.NewReader("query"))
			if tc.key {
				req.Header["Idempotency-Key"] = nil
			}
			resp, err := g.Client().Do(req)
			if err == nil {
				resp.Body.Close()
			}
			if len(bodies) != tc.want || (err == nil) != (tc.want == 2) {
				t.Errorf("%s (key %t): %d attempts, %v, want %d", tc.method, tc.key, len(bodies), err, tc.want)
			}
			for i, body := range bodies {
				if body != "query" {
					t.Errorf("%s: attempt %d sent the body %q", tc.method, i+1, body)
				}
			}
		})
	}
	req, _ := http.NewRequest("PUT", acme, io.LimitReader(strings.NewReader("once"), 4))
	if pacing.Repeatable(req) {
		t.Error("a request whose body cannot be had again is repeated")
	}
}

// TestVerdicts: the connector's rules come before the client's.
func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		verdict  collection.Verdict
		status   int
		attempts int
		want     collection.Reason
		again    bool // another request leaves afterwards
	}{
		{collection.NoVerdict, 200, 1, "", true},
		{collection.Accept, 500, 1, "", true},
		{collection.Accept, 404, 1, "", true},
		{collection.Retry, 200, 2, collection.UpstreamPressure, true},
		{collection.Throttle, 200, 2, collection.RateLimited, true},
		{collection.Throttle, 403, 2, collection.RateLimited, true},
		{collection.OpenGap, 403, 1, collection.Forbidden, true},
		{collection.OpenGap, 451, 1, collection.BadPage, true},
		{collection.IsGone, 404, 1, collection.Gone, true},
		{collection.Fail, 200, 1, collection.BadPage, true},
		{collection.StopRun, 400, 1, collection.Suspended, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(statuses(tc.status))
			judged := collection.Response{}
			g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{
				Limits: collection.Limits{Attempts: 2},
				Judge: func(r collection.Response) collection.Verdict {
					judged = r
					return tc.verdict
				},
			}})
			status, err := fetch(t, g)
			stop, _ := errors.AsType[*collection.Stop](err)
			switch {
			case tc.want == "" && (status != tc.status || err != nil):
				t.Errorf("%q on %d: %d, %v, want the response", tc.verdict, tc.status, status, err)
			case tc.want != "" && (stop == nil || stop.Reason != tc.want || stop.Status != tc.status):
				t.Errorf("%q on %d: %v, want %s", tc.verdict, tc.status, err, tc.want)
			}
			if got := m.count(); got != tc.attempts {
				t.Errorf("%q on %d: %d attempts, want %d", tc.verdict, tc.status, got, tc.attempts)
			}
			if judged.Status != tc.status {
				t.Errorf("the rules saw status %d, want %d", judged.Status, tc.status)
			}
			before := m.count()
			fetch(t, g)
			if left := m.count() > before; left != tc.again {
				t.Errorf("%q on %d: the next request left: %t, want %t", tc.verdict, tc.status, left, tc.again)
			}
		})
	}
}

// TestThrottleVerdictHeedsRetryAfter, which means nothing else on a success.
func TestThrottleVerdictHeedsRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			if n++; n == 1 {
				w.Header().Set("Retry-After", "30")
				io.WriteString(w, `{"slow":"down"}`)
			}
		})
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Judge: func(r collection.Response) collection.Verdict {
			if strings.Contains(string(r.Body), "slow") {
				return collection.Throttle
			}
			return collection.NoVerdict
		}}})
		start := time.Now()
		mustFetch(t, g)
		if got := m.gaps(start)[1]; got < 30*time.Second {
			t.Errorf("asked again after %v, want 30s", got)
		}
	})
}

// TestQuotaOfWhichTheEndIsAnnounced: a run that would have to wait for longer than it waits ends as planned, whether the
// last request of the quota or one too many said that nothing is left. What only asks for a wait is none of a quota.
func TestQuotaOfWhichTheEndIsAnnounced(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		told   map[string]string
		want   collection.Reason
	}{
		"granted":     {200, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7200"}, collection.Quota},
		"refused":     {429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7200"}, collection.Quota},
		"asks":        {429, map[string]string{"Retry-After": "7200"}, collection.RetryAfter},
		"asks longer": {429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3600", "Retry-After": "7200"}, collection.RetryAfter},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := serve(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-RateLimit-Limit", "5000")
					for k, v := range tc.told {
						w.Header().Set(k, v)
					}
					w.WriteHeader(tc.status)
				})
				g := govern(t, pacing.Config{Base: m})
				if tc.status == 200 {
					mustFetch(t, g)
				}
				stop := stopOf(t, g)
				if wait := time.Until(stop.NotBefore); stop.Reason != tc.want || wait < 119*time.Minute || wait > 121*time.Minute || m.count() != 1 {
					t.Errorf("%+v after %d requests, want %s for two hours after 1", stop, m.count(), tc.want)
				}
			})
		})
	}
}

// TestQuotaIsAHold: no retry helps, and the pace was not the problem.
func TestQuotaIsAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(429)
			io.WriteString(w, `{"policyName":"DAILY"}`)
		})
		g := govern(t, pacing.Config{Base: m})
		stop := stopOf(t, g)
		if wait := time.Until(stop.NotBefore); stop.Reason != collection.RetryAfter || wait < time.Hour || wait > time.Hour+time.Second || m.count() != 1 {
			t.Errorf("%+v after %d requests, want retry_after for an hour after 1", stop, m.count())
		}
		if got := g.Status().PerSecond; got != 1 {
			t.Errorf("the pace is %v/s, want 1", got)
		}
	})
}

// TestADaysQuotaOutlastsAMinutesWait: the wait beside a day's quota may be that of
// the minute's, which is used up as well (Gemini). Who believes it asks a hundred
// times an hour for what comes back at midnight.
func TestADaysQuotaOutlastsAMinutesWait(t *testing.T) {
	for _, tc := range []struct {
		period string
		wait   string
		want   time.Duration
	}{
		{"PerDay", "32s", time.Hour},
		{"PerDay", "299s", time.Hour},
		{"PerDay", "1200s", 20 * time.Minute}, // may well be midnight
		{"PerMinute", "32s", 32 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(429)
				io.WriteString(w, `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"Requests`+tc.period+`PerProject"}]},{"retryDelay":"`+tc.wait+`"}]}}`)
			})
			g := govern(t, pacing.Config{Base: m, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: 10 * time.Second})})
			stop := stopOf(t, g)
			if wait := time.Until(stop.NotBefore); wait < tc.want || wait > tc.want+time.Second {
				t.Errorf("%s, %s: left alone for %v, want %v", tc.period, tc.wait, wait, tc.want)
			}
		})
	}
}

// A broken provider answers with an error of the network.
type broken struct{ err error }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

// TestNoConnectionIsToldApart, and nothing of the error is quoted.
func TestNoConnectionIsToldApart(t *testing.T) {
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, Err: err}
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{dial(&net.DNSError{Name: "acme.test", IsNotFound: true}), "no connection: no such host"},
		{dial(&net.DNSError{Name: "acme.test", IsTimeout: true}), "no connection: the name cannot be looked up"},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "no connection: connection refused"},
		{dial(os.ErrDeadlineExceeded), "no connection: timed out"},
		{dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), "no connection: network unreachable"},
		{&net.OpError{Op: "proxyconnect", Err: dial(syscall.ECONNREFUSED)}, "no connection to the proxy: connection refused"},
		{&net.OpError{Op: "proxyconnect", Err: dial(&net.DNSError{Name: "acme.test", IsNotFound: true})}, "no connection to the proxy: no such host"},
		{&tls.CertificateVerificationError{Err: errors.New("acme.test")}, "no connection: the TLS certificate is not valid"},
		{tls.RecordHeaderError{Msg: "c0ffee"}, "no connection: it does not speak TLS"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}, "no connection: TLS was refused: it asks for a client certificate, or has no cipher in common with us"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(80)}, "no connection: TLS was refused"},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "the connection was closed before the answer"},
		{io.EOF, "the connection was closed before the answer"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "timed out"},
		{errors.New("c0ffee is not known"), "the connection failed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := govern(t, pacing.Config{Base: broken{tc.err}, Provider: collection.Provider{Limits: collection.Limits{Attempts: 2}}})
			stop := stopOf(t, g)
			if stop.Reason != collection.UpstreamPressure || stop.Status != 0 || stop.Detail != tc.want || !errors.Is(stop, tc.err) {
				t.Errorf("%v: %+v, want upstream_pressure with %q", tc.err, stop, tc.want)
			}
			if got, want := stop.Error(), "upstream_pressure: "+tc.want; got != want {
				t.Errorf("the stop reads %q, want %q", got, want)
			}
		})
	}
}

// TestWhyTheRetryWasNeeded: a retry whose turn does not come says what kept the
// attempt before it from an answer.
func TestWhyTheRetryWasNeeded(t *testing.T) {
	for _, tc := range []struct {
		name string
		base http.RoundTripper
		want string
	}{
		{"a status", serve(statuses(503)), "answered 503"},
		{"no connection", broken{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}, "no connection: connection refused"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := pacing.NewBudget(pacing.BudgetLimits{})
			g := govern(t, pacing.Config{Base: tc.base, Budget: b, Provider: collection.Provider{Unpaced: true},
				Random: func() float64 { return 0.5 }})
			time.AfterFunc(ms, b.Interrupt) // while the retry waits
			if stop := stopOf(t, g); stop.Reason != collection.Interrupted || stop.Detail != tc.want {
				t.Errorf("%s: %+v, want interrupted with %q", tc.name, stop, tc.want)
			}
		})
	}
}

// TestProviderIsAway: a request is sent again while the provider answers no request, for five minutes at most and
// beyond its own attempts. A request that fails alone, or before the provider answered any, ends after its attempts.
func TestProviderIsAway(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		served bool          // before it
		lasts  time.Duration // after that
		other  bool          // another request is answered meanwhile
		want   int           // status; 0: a stop
		most   time.Duration
	}{
		{"a minute of 429", 429, true, time.Minute, false, 200, 150 * time.Second},
		{"a minute of 503", 503, true, time.Minute, false, 200, 150 * time.Second},
		{"a minute of 502", 502, true, time.Minute, false, 200, 150 * time.Second},
		{"a minute without a connection", 0, true, time.Minute, false, 200, 150 * time.Second},
		{"an hour of 503", 503, true, time.Hour, false, 0, 7 * time.Minute},
		{"503 from the start", 503, false, time.Minute, false, 0, 50 * time.Second},
		{"503 for one alone", 503, true, time.Minute, true, 0, 50 * time.Second},
		{"a minute of 500", 500, true, time.Minute, false, 0, 50 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var away atomic.Bool
				m := serve(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case r.URL.Path == "/other", !away.Load():
					case tc.status == 0:
						panic(http.ErrAbortHandler)
					default:
						w.WriteHeader(tc.status)
					}
				})
				g := govern(t, pacing.Config{Base: m})
				for range 10 {
					if tc.served {
						mustFetch(t, g)
					}
				}
				away.Store(true)
				asked := time.Now()
				time.AfterFunc(tc.lasts, func() { away.Store(false) })
				var others sync.WaitGroup
				if tc.other {
					others.Go(func() {
						for time.Since(asked) < time.Minute {
							req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, acme+"/other", nil)
							if err != nil {
								t.Error(err)
							}
							if resp, err := g.Client().Do(req); err == nil {
								resp.Body.Close()
							}
						}
					})
				}
				status, err := fetch(t, g)
				took := time.Since(asked)
				others.Wait()
				if status != tc.want || took > tc.most {
					t.Errorf("%d after %v, %v; want %d within %v", status, took, err, tc.want, tc.most)
				}
			})
		})
	}
}

// TestTheWindowOfARefusalIsWaitedOut: of a limit that is used up, and of which no more is told than its window, a
// request waits for the end of it once its attempts are used up, if that is no longer than a run waits.
func TestTheWindowOfARefusalIsWaitedOut(t *testing.T) {
	for _, tc := range []struct {
		name    string
		says    string
		header  http.Header
		lasts   time.Duration // from the start
		want    int           // status; 0: a stop
		from    time.Duration // when it ended
		most    time.Duration
		maxTime time.Duration
	}{
		{"in words", "120 per 1 minute", nil, time.Minute, 200, time.Minute, 70 * time.Second, 0},
		{"in fields", "", http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Limit": {"120, 120;window=60"}}, time.Minute, 200, time.Minute, 70 * time.Second, 0},
		{"longer than it says", "120 per 1 minute", nil, time.Hour, 0, time.Minute, 70 * time.Second, 0},
		{"longer than a run waits", "120 per 1 hour", nil, time.Hour, 0, 0, 50 * time.Second, 0},
		{"longer than this run", "120 per 1 minute", nil, time.Minute, 0, 0, 50 * time.Second, 55 * time.Second},
		{"soon over", "120 per 1 minute", nil, 3 * time.Second, 200, 0, 20 * time.Second, 0},
		{"no window", "slow down", nil, time.Minute, 0, 0, 50 * time.Second, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				m := serve(func(w http.ResponseWriter, _ *http.Request) {
					if time.Since(start) < tc.lasts {
						maps.Copy(w.Header(), tc.header)
						w.WriteHeader(429)
						io.WriteString(w, `{"error":"Rate limit exceeded: `+tc.says+`"}`)
					}
				})
				g := govern(t, pacing.Config{Base: m, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: tc.maxTime})})
				status, err := fetch(t, g)
				if took := time.Since(start); status != tc.want || took < tc.from || took > tc.most || m.count() > 6 {
					t.Errorf("%d after %v and %d requests, %v; want %d after %v, and 6 at most", status, took, m.count(), err, tc.want, tc.from)
				}
				if stop, ok := errors.AsType[*collection.Stop](err); ok && tc.maxTime > 0 {
					if wait := stop.NotBefore.Sub(start); wait < time.Minute || wait > 61*time.Second || g.Status().HoldUntil != stop.NotBefore {
						t.Errorf("%+v, with the account left alone until %v; want the end of the minute for both", stop, g.Status().HoldUntil)
					}
				}
			})
		})
	}
}

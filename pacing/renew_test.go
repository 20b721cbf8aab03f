package pacing_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

const issuer = "https://auth.test"

// A lending is a credential that does not last: "t1", "t2" and so on.
type lending struct {
	turn chan struct{} // a mutex would stop the clock of synctest
	n    int
	have bool
	sent int
}

func (l *lending) Renew(ctx context.Context, send func(*http.Request) (*http.Response, error)) error {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if l.have {
		return nil
	}
	l.sent++
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, issuer+"/token", strings.NewReader("spend"))
	req.Header.Set("Authorization", "Basic client")
	resp, err := send(req)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return &collection.Stop{Reason: collection.Auth, Status: resp.StatusCode, Detail: "not granted"}
	}
	l.n++
	l.have = true
	return nil
}

func (l *lending) token() string { return "t" + string(rune('0'+l.n)) }

func (l *lending) Authorize(req *http.Request) { req.Header.Set("Authorization", "Bearer "+l.token()) }

func (l *lending) Refused(req *http.Request) bool {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if req.Header.Get("Authorization") == "Bearer "+l.token() {
		l.have = false
	}
	return true
}

func (l *lending) Secrets() []string { return []string{"lent-secret"} }

// lent returns a governor whose credential does not last.
func lent(t *testing.T, c pacing.Config) (*pacing.Governor, *lending) {
	l := &lending{turn: make(chan struct{}, 1)}
	c.Provider.Renewal, c.Provider.Authorize, c.Provider.Credential = l, l.Authorize, "account"
	c.Provider.Origins, c.Provider.Others = []string{acme}, []string{"https://elsewhere.test"}
	return govern(t, c), l
}

// log returns what a provider was asked, with which credential.
func (m *memory) log() (log []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.requests {
		log = append(log, r.Method+" "+r.URL.Host+" "+r.Header.Get("Authorization"))
	}
	return log
}

// split serves the endpoint of tokens and the API by two handlers.
func split(tokens, api http.HandlerFunc) *memory {
	return serve(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "auth.test" {
			tokens(w, r)
			return
		}
		api(w, r)
	})
}

const (
	tokenAsked = "POST auth.test Basic client"
	first      = "GET acme.test Bearer t1"
	second     = "GET acme.test Bearer t2"
)

// TestRenewal plays one request with endpoints that refuse.
func TestRenewal(t *testing.T) {
	tests := []struct {
		name        string
		tokens, api http.HandlerFunc
		want        []string
		reason      collection.Reason // "": answered
		status      int
	}{
		{"at first", ok, ok, []string{tokenAsked, first}, "", 200},
		{"refused once", ok, statuses(401, 200), []string{tokenAsked, first, tokenAsked, second}, "", 200},
		{"refused again", ok, statuses(401), []string{tokenAsked, first, tokenAsked, second}, collection.Auth, 401},
		{"refused after trouble", ok, statuses(503, 401, 500, 200), []string{tokenAsked, first, first, tokenAsked, second, second}, "", 200},
		{"refused in words", ok, words(`{"ok":false,"error":"token_expired"}`, `{"ok":true}`), []string{tokenAsked, first, tokenAsked, second}, "", 200},
		{"refused by a proxy", ok, statuses(407), []string{tokenAsked, first}, collection.Auth, 407},
		{"not granted", statuses(400), ok, []string{tokenAsked}, collection.Auth, 400},
		{"forbidden", statuses(403), ok, []string{tokenAsked}, collection.Auth, 403},
		{"not granted again", statuses(200, 400), statuses(401), []string{tokenAsked, first, tokenAsked}, collection.Auth, 400},
		{"throttled once", statuses(429, 200), ok, []string{tokenAsked, tokenAsked, first}, "", 200},
		{"failing once", statuses(500, 200), ok, []string{tokenAsked, tokenAsked, first}, "", 200},
		{"throttled for ever", statuses(429), ok, slices.Repeat([]string{tokenAsked}, 3), collection.RateLimited, 429},
		{"failing for ever", statuses(503), ok, slices.Repeat([]string{tokenAsked}, 3), collection.UpstreamPressure, 503},
		{"silent", func(http.ResponseWriter, *http.Request) { time.Sleep(time.Hour) }, ok, slices.Repeat([]string{tokenAsked}, 3), collection.UpstreamPressure, 0},
		{"endless", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 2000)) }, ok, []string{tokenAsked}, collection.Auth, 200},
	}
	for _, tc := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := split(tc.tokens, tc.api)
			attempts := 3
			if tc.name == "refused after trouble" {
				attempts = 5
			}
			g, _ := lent(t, pacing.Config{Base: m, Provider: collection.Provider{Limits: collection.Limits{Attempts: attempts, Body: 1000}}})
			if tc.reason == "" {
				if status, err := fetch(t, g); status != tc.status || err != nil {
					t.Errorf("%s: %d, %v, want %d", tc.name, status, err, tc.status)
				}
			} else if stop := stopOf(t, g); stop.Reason != tc.reason || stop.Status != tc.status {
				t.Errorf("%s: %v, want %s (%d)", tc.name, stop, tc.reason, tc.status)
			}
			if got := m.log(); !slices.Equal(got, tc.want) {
				t.Errorf("%s: asked\n\t%s\nwant\n\t%s", tc.name, strings.Join(got, "\n\t"), strings.Join(tc.want, "\n\t"))
			}
			time.Sleep(2 * time.Hour) // for who is silent
		})
	}
}

// words answers 200 with these bodies, the last one for ever.
func words(bodies ...string) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, bodies[min(n, len(bodies)-1)])
		n++
	}
}

// A request for a credential has a turn of its own: it is charged, it waits for
// what the account waits for, and each attempt still waits once.
func TestRenewalsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := split(ok, ok)
		budget := pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 2})
		g, _ := lent(t, pacing.Config{Base: m, Budget: budget, Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 1, Per: time.Minute}}}})
		g.SetProbe(func(waits int) {
			if waits > 1 {
				t.Errorf("an attempt waited %d times", waits)
			}
		})
		start := time.Now()
		if _, err := fetch(t, g); err != nil {
			t.Fatal(err)
		}
		if gaps := m.gaps(start); len(gaps) != 2 || gaps[1] < time.Minute {
			t.Errorf("the request came %v after that for its credential, want a minute: the ceiling counts both", gaps)
		}
		if stop := stopOf(t, g); stop.Reason != collection.RequestCap || m.count() != 2 {
			t.Errorf("%v after %d requests, want the cap after 2", stop, m.count())
		}
		if got := budget.Tally().Requests; got != 2 {
			t.Errorf("%d requests are counted, want 2", got)
		}
	})
}

// What an endpoint of another host says of its limits does not move the pace,
// but the silence that it asks for is kept, by the next process, too.
func TestIssuersLimitsAreItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		granting := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Limit", "3")
			w.Header().Set("X-RateLimit-Remaining", "0")
			w.Header().Set("X-RateLimit-Reset", "600")
		}
		m, d := split(granting, ok), &disk{}
		g, l := lent(t, pacing.Config{Base: m, Save: d.save})
		start, rate := time.Now(), g.Status().PerSecond
		if _, err := fetch(t, g); err != nil || time.Since(start) > time.Minute {
			t.Errorf("%v after %v: a limit of the endpoint held up the API", err, time.Since(start))
		}
		l.have = false
		m.Handler = split(retryAfter("3600"), ok).Handler
		stop := stopOf(t, g)
		if stop.Reason != collection.RetryAfter || time.Until(stop.NotBefore) < 59*time.Minute {
			t.Errorf("%v, want a wait of an hour", stop)
		}
		if now := g.Status().PerSecond; now < rate {
			t.Errorf("a refusal of the endpoint slowed the API down, from %v to %v a second", rate, now)
		}
		sent := m.count()
		next, _ := lent(t, pacing.Config{Base: m, Save: d.save, Restore: d.state})
		if stop := stopOf(t, next); stop.Reason != collection.RetryAfter || m.count() != sent {
			t.Errorf("the next process asked %d times: %v", m.count()-sent, stop)
		}
	})
}

// A grant says nothing about the account: the test request of a freeze, and the
// probe of a breaker, are those that come after it.
func TestGrantReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, d := split(ok, statuses(403)), &disk{}
		g, _ := lent(t, pacing.Config{Base: m, Save: d.save})
		for strike := 1; strike <= 3; strike++ {
			if stop := stopOf(t, g); stop.Reason != collection.Frozen || stop.Status != 403 {
				t.Fatalf("strike %d: %v", strike, stop)
			}
			time.Sleep(2 * time.Hour)
			// Another process begins without a credential.
			g, _ = lent(t, pacing.Config{Base: m, Save: d.save, Restore: d.state})
		}
		sent := m.count()
		if stop := stopOf(t, g); stop.Reason != collection.Frozen || !stop.NotBefore.IsZero() || m.count() != sent {
			t.Errorf("after the third 403: %v, %d more requests; want that an operator is waited for", stop, m.count()-sent)
		}
	})
}

// Of several requests in flight, one renews, and all go on.
func TestRenewalOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stale := true
		m := split(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second); stale = false },
			func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(time.Second)
				if stale {
					w.WriteHeader(401)
				}
			})
		g, l := lent(t, pacing.Config{Base: m, Concurrency: 4, Provider: collection.Provider{Unpaced: true}})
		l.n, l.have = 1, true
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if status, err := fetch(t, g); status != 200 || err != nil {
					t.Errorf("%d, %v", status, err)
				}
			})
		}
		group.Wait()
		if l.sent != 1 {
			t.Errorf("%d renewals, want 1: %v", l.sent, m.log())
		}
	})
}

// A renewal that waits for something else ends with the time of the run.
func TestRenewalEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := lent(t, pacing.Config{Base: split(ok, ok), Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: time.Minute})})
		l.turn <- struct{}{} // somebody else has it, and goes on for ever
		start := time.Now()
		if stop := stopOf(t, g); stop.Reason != collection.WallClock || time.Since(start) != time.Minute {
			t.Errorf("%v after %v, want that the time is up after a minute", stop, time.Since(start))
		}
	})
}

// What was lent does not go to another origin, in no disguise.
func TestLentSecretsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := split(ok, ok)
		g, l := lent(t, pacing.Config{Base: m})
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://elsewhere.test/?t=lent-secret", nil)
		_, err := g.Client().Do(req)
		if stop, ok := errors.AsType[*collection.Stop](err); !ok || stop.Reason != collection.BadPage {
			t.Errorf("a URL with a lent secret was asked for: %v", err)
		}
		req, _ = http.NewRequestWithContext(t.Context(), "GET", "https://elsewhere.test/", nil)
		req.Header.Set("X-Key", "lent-secret")
		resp, err := g.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if last := m.requests[len(m.requests)-1]; last.Header.Get("X-Key") != "" || last.Header.Get("Authorization") != "" || l.sent != 0 {
			t.Errorf("another origin was sent %v; %d renewals for it", last.Header, l.sent)
		}
	})
}

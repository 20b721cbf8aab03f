package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/internal/provider"
)

// statuses asks n times, each apart from the one before, and returns the
// statuses.
func statuses(t *testing.T, s *provider.Server, n int, apart time.Duration) (got []int) {
	t.Helper()
	for range n {
		got = append(got, get(t, s, "/tickets/1").Code)
		time.Sleep(apart)
	}
	return got
}

func count(of []int, status int) (n int) {
	for _, got := range of {
		if got == status {
			n++
		}
	}
	return n
}

// A bucket of 10 that fills with 20 a second serves a burst of 10 and then
// every 50 ms.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := provider.New(provider.Script{Modes: []provider.Mode{provider.Limit(20, 10, provider.Refusal{})}})
		if got := statuses(t, s, 15, 0); count(got, 200) != 10 || count(got, 429) != 5 {
			t.Errorf("a burst of 15 gets %v, want ten 200 and five 429", got)
		}
		time.Sleep(time.Minute) // fills it, but not above 10
		if got := count(statuses(t, s, 100, 10*time.Millisecond), 200); got != 10+19 {
			t.Errorf("100 requests in a second: %d were served, want 29", got)
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		refusal    provider.Refusal
		status     int
		retryAfter string
		html       bool
	}{
		{provider.Refusal{}, 429, "", false},
		{provider.Refusal{RetryAfter: 1200 * time.Millisecond}, 429, "2", false},
		{provider.Refusal{Status: 503, HTML: true}, 503, "", true},
	} {
		s := provider.New(provider.Script{Modes: []provider.Mode{provider.Limit(0, 0, tc.refusal)}})
		w := get(t, s, "/tickets")
		html := strings.Contains(w.Body.String(), "<html>") && w.Header().Get("Content-Type") == "text/html"
		if w.Code != tc.status || w.Header().Get("Retry-After") != tc.retryAfter || html != tc.html {
			t.Errorf("%+v: status %d, Retry-After %q, HTML %t", tc.refusal, w.Code, w.Header().Get("Retry-After"), html)
		}
	}
}

// Four requests at once at two a second leave after 0.5, 1, 1.5 and 2 s; one
// alone takes half a second again.
func TestSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := provider.New(provider.Script{Modes: []provider.Mode{provider.SlowDown(2, 10*time.Second)}})
		start := time.Now()
		took := make(chan time.Duration, 4)
		for range 4 {
			go func() {
				get(t, s, "/tickets/1")
				took <- time.Since(start)
			}()
		}
		for i := range 4 {
			if got, want := <-took, time.Duration(i+1)*500*time.Millisecond; got != want {
				t.Errorf("answer %d after %v, want %v", i, got, want)
			}
		}
		start = time.Now()
		get(t, s, "/tickets/1")
		if got, want := time.Since(start), 500*time.Millisecond; got != want {
			t.Errorf("one alone took %v, want %v", got, want)
		}
	})
}

func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freeze := provider.Instead(provider.Freeze)
		s := provider.New(provider.Script{Modes: []provider.Mode{
			provider.During(provider.When{Path: "/tickets/*", From: 3, To: 4}, freeze),
			provider.During(provider.When{Path: "/flat", After: 10 * time.Second, Until: 20 * time.Second}, freeze),
			provider.During(provider.When{Path: "/parents", From: 2, Until: 5 * time.Second}, freeze),
		}})
		get(t, s, "/tickets") // is not counted: another path
		if got := statuses(t, s, 5, 0); count(got[2:4], 403) != 2 || count(got, 403) != 2 {
			t.Errorf("statuses = %v, want 403 for the third and fourth", got)
		}
		for _, want := range []int{200, 403, 200} {
			if got := get(t, s, "/flat").Code; got != want {
				t.Errorf("/flat: status %d, want %d", got, want)
			}
			time.Sleep(10 * time.Second)
		}
		for _, want := range []int{200, 403, 403, 200} { // 5 s from the second on
			if got := get(t, s, "/parents").Code; got != want {
				t.Errorf("/parents: status %d, want %d", got, want)
			}
			time.Sleep(4 * time.Second)
		}
	})
}

func TestRefuse(t *testing.T) {
	s := provider.New(provider.Script{Modes: []provider.Mode{provider.Refuse(403, 7), provider.Refuse(410, 3)}})
	for target, want := range map[string]int{
		"/tickets/7": 403, "/tickets/70": 200, "/parents/3/children": 410, "/parents/4/children": 200, "/tickets?page=7": 200,
	} {
		if got := get(t, s, target).Code; got != want {
			t.Errorf("%s: status %d, want %d", target, got, want)
		}
	}
}

// A request inside a Retry-After is early. One that was on the wire when the
// answer left is not, nor is one at the very end.
func TestEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := provider.New(provider.Script{Modes: []provider.Mode{
			provider.During(provider.When{To: 1}, provider.Limit(0, 0, provider.Refusal{RetryAfter: 2 * time.Second})),
		}})
		for _, step := range []struct {
			wait time.Duration
			want bool
		}{
			{0, false},                     // gets the Retry-After
			{20 * time.Millisecond, false}, // was on the wire
			{time.Second, true},
			{980 * time.Millisecond, false}, // 2 s are over
		} {
			time.Sleep(step.wait)
			get(t, s, "/tickets")
			log := s.Log()
			if got := log[len(log)-1].Early; got != step.want {
				t.Errorf("request %d is early: %t, want %t", len(log), got, step.want)
			}
		}
		if got := s.Stats().Early; got != 1 {
			t.Errorf("%d early requests, want 1", got)
		}
	})
}

// The demo throttles in all four ways, whoever asks: a client that is fast, and
// one that stays under every limit.
func TestDemoThrottlesInFourWays(t *testing.T) {
	for _, apart := range []time.Duration{time.Millisecond, 50 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := provider.Demo(1)
			asked, bare := 0, 0
			for range 2100 {
				w := get(t, s, "/tickets/1")
				if w.Code == 429 && w.Header().Get("Retry-After") != "" {
					asked++
				} else if w.Code == 429 {
					bare++
				}
				time.Sleep(apart)
			}
			got := s.Stats()
			if asked == 0 || bare == 0 || got.ByMode["503"] == 0 || got.ByMode["slow"] == 0 {
				t.Errorf("a request every %v: %d were asked to wait, %d refused with bare 429; %+v", apart, asked, bare, got)
			}
		})
	}
}

// What each fault sends, as a plain client on a network sees it.
func TestFaults(t *testing.T) {
	s := provider.New(provider.Script{Tickets: 250})
	base, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for fault, want := range map[provider.Fault]struct {
		status int
		body   string
		err    error
	}{
		provider.Freeze:      {403, `{"message":"forbidden"}`, nil},
		provider.Outage:      {503, "<html>", nil},
		provider.Unsupported: {505, "", nil},
		provider.HTML:        {200, "<html>", nil},
		provider.Truncated:   {200, `{"items":[{"id":1},{"id":2`, io.ErrUnexpectedEOF},
		provider.NotJSON:     {200, `{"id":1,}]`, nil},
		provider.Trailing:    {200, `}{`, nil},
		provider.NoKey:       {200, `{"title":"who am I"}`, nil},
		provider.SameCursor:  {200, `"next_cursor":"again"`, nil},
		provider.SamePage:    {200, `"items":[{"id":1,`, nil},
		provider.EmptyPages:  {200, `{"items":[],"next_cursor":"empty 1"}`, nil},
		provider.Redirect:    {302, `{}`, nil},
		provider.Elsewhere:   {200, `"next":"http://localhost:`, nil},
		provider.Gzip:        {200, `"next_cursor":"`, nil}, // inflated by the client
		provider.Drop:        {0, "", io.EOF},
	} {
		r, err := client.Get(base + "/bad/" + string(fault))
		if err != nil {
			if !errors.Is(err, want.err) {
				t.Errorf("%s: %v, want %v", fault, err, want.err)
			}
			continue
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != want.status || !strings.Contains(string(body), want.body) || !errors.Is(err, want.err) {
			t.Errorf("%s: status %d, error %v, body %.80s", fault, r.StatusCode, err, body)
		}
	}
	if n, err := inflated(client, base+"/bad/bomb"); n != 100<<20 || err != nil {
		t.Errorf("bomb: %d bytes, %v, want 100 MiB", n, err)
	}
	if got := get(t, s, "/bad/unheard-of").Code; got != 404 {
		t.Errorf("unknown fault: status %d, want 404", got)
	}
	log := s.Log()
	for _, e := range log[:len(log)-1] {
		if e.Mode == "" {
			t.Errorf("%s is in the log without its mode", e.Path)
		}
	}
}

func inflated(client *http.Client, target string) (int64, error) {
	r, err := client.Get(target)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	return io.Copy(io.Discard, r.Body)
}

// A redirect leads to another host on which the same provider sees whether
// the credential came along.
func TestRedirectIsObserved(t *testing.T) {
	s := provider.New(provider.Script{})
	base, err := s.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/bad/redirect", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer x")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	log := s.Log()
	if len(log) != 2 || !log[0].Credential || log[1].Credential || log[1].Path != "/cursor/tickets" {
		t.Errorf("log = %+v, want a redirect with and a list without a credential", log)
	}
}

// A stuck request hangs until it is released, and can be waited for.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := provider.New(provider.Script{Modes: []provider.Mode{
			provider.During(provider.When{Path: "/tickets/7"}, provider.Instead(provider.Stuck)),
		}})
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.AwaitStuck(brief); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("AwaitStuck with nothing stuck: %v, want a deadline", err)
		}
		done := make(chan int)
		go func() { done <- get(t, s, "/tickets/7").Code }()
		if err := s.AwaitStuck(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.Stats(); got.Stuck != 1 || got.InFlight != 1 {
			t.Errorf("stats = %+v, want one stuck and in flight", got)
		}
		s.Release()
		if got := <-done; got != 200 {
			t.Errorf("released: status %d, want 200", got)
		}
		if got := get(t, s, "/tickets/7").Code; got != 200 {
			t.Errorf("after the release: status %d, want 200", got)
		}
	})
}

func TestParseMode(t *testing.T) {
	for text, want := range map[string]int{
		"429":                           429,
		"429 rate=1":                    200,
		"429 rate=0.5":                  200,
		"503 path=/flat":                503,
		"refuse status=451 ids=7,1":     200, // of /flat
		"freeze":                        403,
		"freeze from=2":                 200,
		"latency by=1ms; freeze to=1":   403,
		"slow rate=1000 longest=10ms ":  200,
		"":                              200,
		"429 retry-after=30s until=10h": 429,
	} {
		modes, err := provider.ParseModes(text)
		if err != nil {
			t.Errorf("ParseModes(%q): %v", text, err)
			continue
		}
		s := provider.New(provider.Script{Modes: modes})
		if got := get(t, s, "/flat").Code; got != want {
			t.Errorf("mode %q: status %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{
		"unheard-of", "429 rate", "429 rate=fast", "429 speed=1", "slow rate=0", "freeze after=1", "refuse ids=a", "429 burst=x",
	} {
		if _, err := provider.ParseModes(text); err == nil {
			t.Errorf("ParseModes(%q) is accepted", text)
		}
		s := provider.New(provider.Script{})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/_provider/mode?set="+url.QueryEscape(text), nil))
		if w.Code != 400 {
			t.Errorf("/_provider/mode?set=%s: status %d, want 400", text, w.Code)
		}
	}
}

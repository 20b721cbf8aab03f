package pacing_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"collect/collection"
	"collect/pacing"
)

const secret = "s3cr3t/Token+value="

func asStop(err error) *collection.Stop {
	stop, _ := errors.AsType[*collection.Stop](err)
	return stop
}

// leaks reports where r holds the secret.
func leaks(r *http.Request) string {
	for name, values := range r.Header {
		if strings.Contains(strings.Join(values, " "), secret) {
			return "header " + name
		}
	}
	for _, spelled := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		if strings.Contains(r.URL.String(), spelled) {
			return "URL"
		}
	}
	return ""
}

// ways are the ways a connector is authorized.
var ways = map[string]func(*http.Request){
	"bearer": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) },
	"header": func(r *http.Request) { r.Header.Set("X-Api-Key", secret) },
	"cookie": func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "session", Value: secret}) },
	"query": func(r *http.Request) {
		q := r.URL.Query()
		q.Set("key", secret)
		r.URL.RawQuery = q.Encode()
	},
}

// TestOtherOriginsAreNotAsked follows redirects to other hosts, ports,
// subdomains and addresses, for every way to be authorized: nothing leaves for
// an origin that is not listed, one that is listed without the credential is
// asked without it, and an origin has one spelling. A request that stays at
// home costs no turn and no request of the budget.
func TestOtherOriginsAreNotAsked(t *testing.T) {
	for name, authorize := range ways {
		for to, want := range map[string]string{ // "": it is asked
			"https://ACME.test:443/x": "", "//acme.test./x": "", "https://bare.test/x": "", "https://bare.test:443/x": "",

			"https://other.test/x": "https://other.test", "https://acme.test:8443/x": "https://acme.test:8443",
			"https://api.acme.test/x": "https://api.acme.test", "https://acme.test.evil.test/x": "https://acme.test.evil.test",
			"https://xacme.test/x": "https://xacme.test", "https://acme.test@evil.test/x": "https://evil.test",
			"https://bare.test:444/x": "https://bare.test:444", "https://8.8.8.8/x": "https://8.8.8.8",
			"https://127.0.0.1/x": "https://127.0.0.1", "https://2130706433/x": "https://2130706433", "https://0177.0.0.1/x": "https://0177.0.0.1",
			"https://0x7f.1/x": "https://0x7f.1", "https://localhost:9/x": "https://localhost:9", "https://[::1]:9/x": "https://[::1]:9",
			"https://" + strings.Repeat("a", 300) + "/x": hiddenOrigin, "https://" + secretHost + ".test/x": hiddenOrigin,
			"https://x." + strings.ToUpper(secretHost) + "/x": hiddenOrigin,
		} {
			synctest.Test(t, func(t *testing.T) {
				m := serve(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/x" {
						return
					}
					w.Header().Set("Location", to)
					w.WriteHeader(302)
				})
				b := pacing.NewBudget(pacing.BudgetLimits{})
				g := govern(t, pacing.Config{Base: m, Budget: b, Provider: collection.Provider{
					Unpaced: true, Authorize: authorize, Credential: "someone:" + secretHost, Secrets: []string{secretHost}, Others: []string{"https://bare.test"},
				}})
				resp, err := g.Client().Get(acme + "/start")
				if err == nil {
					resp.Body.Close()
					if leaks(resp.Request) != "" {
						t.Errorf("%s: the response is of a request that shows the credential in its %s", name, leaks(resp.Request))
					}
				}
				if leaks(m.requests[0]) == "" {
					t.Fatalf("%s: the first request has no credential", name)
				}
				unlisted, refused := errors.AsType[*collection.UnlistedError](err)
				if refused != (want != "") || !refused && err != nil || m.count() != 2-len(want[:min(1, len(want))]) || b.Tally().Requests != int64(m.count()) {
					t.Errorf("%s: redirected to %s: %v after %d requests, refused %q", name, to, err, m.count(), want)
				}
				if refused {
					if stop := asStop(err); stop.Reason != collection.BadPage || unlisted.Origin != strings.TrimSuffix(want, hiddenOrigin) {
						t.Errorf("%s: redirected to %s: %v names %q, want bad_page and %q", name, to, stop, unlisted.Origin, want)
					}
					return
				}
				own := strings.Contains(strings.ToLower(to), "acme.test")
				if got := leaks(m.requests[1]); (got != "") != own {
					t.Errorf("%s: redirected to %s, the credential is in %q", name, to, got)
				}
			})
		}
	}
}

// hiddenOrigin stands for an origin that is refused and not named, and
// secretHost is a password that may be a part of one.
const (
	hiddenOrigin = "-"
	secretHost   = "pa55word-for-acme"
)

// TestConnectorsHeadersAreStripped: what a connector itself put into a request
// to another origin does not leave either.
func TestConnectorsHeadersAreStripped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(ok)
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{
			Unpaced: true, Credential: secret, Authorize: ways["bearer"], Others: []string{"https://other.test"},
		}})
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://user:pass@other.test/next", nil)
		req.Header.Set("Authorization", "Bearer x")
		req.Header.Set("Cookie", "session=x")
		req.Header.Set("X-Custom", "key "+secret)
		req.Header.Set("X-Harmless", "yes")
		resp, err := g.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		sent := m.requests[0].Header
		if sent.Get("Authorization") != "" || sent.Get("Cookie") != "" || leaks(m.requests[0]) != "" || sent.Get("X-Harmless") != "yes" {
			t.Errorf("sent %v", sent)
		}
		resp, err = g.Client().Get("https://other.test/?token=" + url.QueryEscape(secret))
		if err == nil {
			resp.Body.Close()
		}
		if stop := asStop(err); stop == nil || stop.Reason != collection.BadPage || m.count() != 1 {
			t.Errorf("a URL with the credential: %v after %d requests, want bad_page", stop, m.count())
		}
	})
}

// TestPasswordAlone: a redirect to another origin carries no password either,
// and a limit that is named like it is not told by its name.
func TestPasswordAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Limit", "100")
			w.Header().Set("X-RateLimit-Remaining", "99")
			w.Header().Set("X-RateLimit-Resource", secret)
			w.Header().Set("Location", "https://other.test/?q="+url.QueryEscape(secret))
			w.WriteHeader(302)
		})
		var j journal
		g := govern(t, pacing.Config{Base: m, Observe: j.observe, Provider: collection.Provider{
			Unpaced: true, Credential: "someone:" + secret, Secrets: []string{secret}, Others: []string{"https://other.test"}, Authorize: func(r *http.Request) { r.SetBasicAuth("someone", secret) },
		}})
		_, err := fetch(t, g)
		if stop := asStop(err); stop == nil || stop.Reason != collection.BadPage || m.count() != 1 {
			t.Errorf("%v after %d requests, want bad_page after one", err, m.count())
		}
		g.Close()
		limits := 0
		for _, e := range j.events {
			if e.Limit != nil {
				limits++
			}
			if strings.Contains(spell(t, e), secret) {
				t.Errorf("told: %s", spell(t, e))
			}
		}
		if limits == 0 {
			t.Error("no limit was told: this proves nothing")
		}
	})
}

// TestRedirects are followed, each hop as an attempt of its own, up to ten,
// and not from https to http with a credential.
func TestRedirects(t *testing.T) {
	for _, tc := range []struct {
		hops       int
		scheme     string
		want       collection.Reason
		credential bool
	}{
		{1, "https", "", true},
		{10, "https", "", true},
		{11, "https", collection.BadPage, true},
		{1, "http", collection.BadPage, true},
		{1, "http", "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			left := tc.hops
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				if left--; left >= 0 {
					w.Header().Set("Location", tc.scheme+"://acme.test/next")
					w.WriteHeader(302)
				}
			})
			p := collection.Provider{Origins: []string{acme, "http://acme.test"}}
			if tc.credential {
				p.Authorize = ways["bearer"]
			}
			b := pacing.NewBudget(pacing.BudgetLimits{})
			_, err := fetch(t, govern(t, pacing.Config{Base: m, Budget: b, Provider: p}))
			if stop := asStop(err); tc.want == "" && err != nil || tc.want != "" && (stop == nil || stop.Reason != tc.want) {
				t.Errorf("%d hops to %s: %v, want %q", tc.hops, tc.scheme, err, tc.want)
			}
			if got := b.Tally().Requests; got != int64(m.count()) || tc.want == "" && got != int64(tc.hops+1) {
				t.Errorf("%d hops: %d attempts were counted of %d", tc.hops, got, m.count())
			}
		})
	}
}

// TestSecretsAreNeverTold collects everything that is told about a run with
// every kind of trouble, and looks for the secret, the query and what of the body
// is no message.
func TestSecretsAreNeverTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		for name, authorize := range ways {
			for _, answer := range []int{400, 401, 403, 404, 429, 500, 503, 302, 0} {
				m := serve(func(w http.ResponseWriter, r *http.Request) {
					if answer == 0 {
						panic(errors.New("c0ffee " + r.URL.String()))
					}
					w.Header().Set("Location", "http://acme.test/?key=c0ffee") // an origin that is listed
					w.WriteHeader(answer)
					io.WriteString(w, `{"error":"bad `+secret+`","data":"c0ffee"}`)
				})
				var j journal
				var d disk
				g := govern(t, pacing.Config{Base: m, Observe: j.observe, Save: d.save, Provider: collection.Provider{
					Authorize: authorize, Credential: secret, Others: []string{"http://acme.test"},
				}})
				_, err := fetch(t, g)
				g.Close()
				told.WriteString(asStop(err).Error())
				uerr, ok := errors.AsType[*url.Error](err)
				if !ok || strings.Contains(uerr.URL, secret) || strings.Contains(uerr.URL, url.QueryEscape(secret)) {
					t.Errorf("%s, %d: the client's error quotes the credential: %v", name, answer, err)
				}
				told.Write(d.state)
				for _, e := range append(j.events, d.events...) {
					told.WriteString(spell(t, e))
				}
			}
		}
		for _, hidden := range []string{"c0ffee", secret, url.QueryEscape(secret), "acme.test", "/records"} {
			if i := strings.Index(told.String(), hidden); i >= 0 {
				t.Errorf("told: …%s…", told.String()[max(0, i-80):i+len(hidden)])
			}
		}
	})
}

// TestUserAgent says who asks, unless the connector does.
func TestUserAgent(t *testing.T) {
	var mu sync.Mutex
	var agents []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		agents = append(agents, r.UserAgent())
	}))
	defer srv.Close()
	g := govern(t, pacing.Config{Provider: collection.Provider{Unpaced: true, Origins: []string{srv.URL}}})
	for _, own := range []string{"", "acme-mirror/2"} {
		req, _ := http.NewRequest("GET", srv.URL, nil)
		if own != "" {
			req.Header.Set("User-Agent", own)
		}
		resp, err := g.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if !strings.HasPrefix(agents[0], "collect/") || agents[1] != "acme-mirror/2" {
		t.Errorf("user agents %q, want collect/… and acme-mirror/2", agents)
	}
}

// TestRedirectsThatLeadNowhere stop with a reason and quote nothing; an error
// of net/http would quote the whole address.
func TestRedirectsThatLeadNowhere(t *testing.T) {
	for _, location := range []string{"http://[::1", "http://me:" + secret + "@acme.test:x/", "file:///etc/passwd", "javascript:alert(1)", "http:///x", "https://"} {
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(302)
			io.WriteString(w, secret)
		})
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Unpaced: true, Credential: secret, Authorize: ways["bearer"]}})
		resp, err := g.Client().Get(acme + "/start")
		if err == nil {
			resp.Body.Close()
		}
		if stop := asStop(err); stop == nil || stop.Reason != collection.BadPage || stop.Detail != "redirected to an address that is not HTTP" || m.count() != 1 || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v after %d requests, want bad_page after one", location, err, m.count())
		}
	}
}

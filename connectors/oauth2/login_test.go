package oauth2_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"collect/connectors/oauth2"
	"collect/internal/provider"
)

// loginAt returns how a person signs in at a server with these settings.
func loginAt(base string) oauth2.Login {
	return oauth2.Login{
		Config:       oauth2.Config{URL: base + "/oauth/token", ClientID: "app", ClientSecret: "s3cret-c4nary"},
		AuthorizeURL: base + "/oauth/authorize?access_type=offline", DeviceURL: base + "/oauth/device", RevokeURL: base + "/oauth/revoke", Scope: "read all",
	}
}

// serveIssuer serves an issuer on a port of its own.
func serveIssuer(t *testing.T, settings string) (*provider.Server, string) {
	t.Helper()
	issuer, err := provider.ParseIssuer("client=app:s3cret-c4nary " + settings)
	if err != nil {
		t.Fatal(err)
	}
	p := provider.New(provider.Script{Issuer: issuer})
	base, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, base
}

// A browser follows the address that it is shown, and all redirects.
func browse(t *testing.T, address string) (status int, page string) {
	t.Helper()
	resp, err := (&http.Client{Timeout: 10 * time.Second}).Get(address)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// TestBrowser: a person signs in by the address, and the token is one that the
// provider renews. The server checks verifier, redirect_uri and state.
func TestBrowser(t *testing.T) {
	p, base := serveIssuer(t, "person=agrees")
	for _, inBody := range []bool{false, true} {
		login := loginAt(base)
		login.InBody = inBody
		refresh, err := login.Browser(t.Context(), http.DefaultClient, func(address string) {
			u, _ := url.Parse(address)
			q := u.Query()
			back, _ := url.Parse(q.Get("redirect_uri"))
			if host, port, err := net.SplitHostPort(back.Host); err != nil || host != "127.0.0.1" || port == "0" || back.Path != "/callback" {
				t.Errorf("comes back to %s", back)
			}
			if q.Get("scope") != "read all" || q.Get("access_type") != "offline" || strings.Contains(address, "c4nary") {
				t.Errorf("asked for by %s", address)
			}
			// What others on this machine send there is not taken.
			for _, forged := range []string{"/callback?code=x&state=wrong", "/callback?code=x", "/callback?error=access_denied&state=", "/callback?state=" + q.Get("state"), "/other?code=x&state=" + q.Get("state")} {
				if status, _ := browse(t, "http://"+back.Host+forged); status < 400 {
					t.Errorf("%s was taken (%d)", forged, status)
				}
			}
			if status, page := browse(t, address); status != http.StatusOK || !strings.Contains(page, "close this window") {
				t.Errorf("the browser shows %d %q", status, page)
			}
		})
		if err != nil || !p.Refreshes(refresh) {
			t.Errorf("got %q, %v, for which the provider grants nothing", refresh, err)
		}
	}
}

// TestBrowserRefused: what the provider says is told in words of ours, and the listener
// is gone.
func TestBrowserRefused(t *testing.T) {
	for _, tc := range []struct {
		name, settings string
		change         func(*oauth2.Login)
		want           string
	}{
		{"denied", "person=denies", func(*oauth2.Login) {}, "the sign-in was refused, or was given up"},
		{"no PKCE", "person=agrees", func(l *oauth2.Login) { l.Plain = true }, "it does not understand the request for a token"},
		{"another secret", "person=agrees", func(l *oauth2.Login) { l.ClientSecret = "wr0ng-c4nary" }, "the client id or the client secret is not accepted (401)"},
	} {
		_, base := serveIssuer(t, tc.settings)
		login := loginAt(base)
		tc.change(&login)
		var back *url.URL
		_, err := login.Browser(t.Context(), http.DefaultClient, func(address string) {
			u, _ := url.Parse(address)
			back, _ = url.Parse(u.Query().Get("redirect_uri"))
			browse(t, address)
		})
		if refused, ok := errors.AsType[*oauth2.SignInError](err); !ok || refused.Detail != tc.want {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		if conn, err := net.Dial("tcp", back.Host); err == nil {
			conn.Close()
			t.Errorf("%s: the listener is still there", tc.name)
		}
	}
}

// TestBrowserMixedUp: a code that is for another request gets no token: the verifier
// and the way back belong to one request.
func TestBrowserMixedUp(t *testing.T) {
	_, base := serveIssuer(t, "person=agrees")
	stolen := make(chan string, 1)
	_, err := loginAt(base).Browser(t.Context(), http.DefaultClient, func(address string) {
		ours, _ := url.Parse(address)
		q := ours.Query()
		// The same request, but for another challenge: its code comes to us.
		q.Set("code_challenge", strings.Repeat("x", 43))
		ours.RawQuery = q.Encode()
		stolen <- address
		browse(t, ours.String())
	})
	if refused, ok := errors.AsType[*oauth2.SignInError](err); !ok || refused.Detail != "the code is no longer valid, or is for another request (400)" {
		t.Errorf("%v, want it refused", err)
	}
	<-stolen
}

// TestGivenUp: Ctrl-C ends the wait.
func TestGivenUp(t *testing.T) {
	_, base := serveIssuer(t, "person=agrees")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	_, err := loginAt(base).Browser(ctx, http.DefaultClient, func(string) { cancel(gone) })
	if !errors.Is(err, gone) {
		t.Errorf("%v, want %v", err, gone)
	}
}

// TestNoRefreshToken: an access token alone is of no use later, and what the answer
// holds is not told.
func TestNoRefreshToken(t *testing.T) {
	for answer, want := range map[string]string{
		`{"access_token":"a-c4nary"}`:                              "no refresh token",
		`{"access_token":"a-c4nary","refresh_token":"two words"}`:  "cannot be sent",
		`{"token":"a-c4nary"}`:                                     "no access token",
		`<html>a-c4nary`:                                           "no access token",
		`{"error":"a-c4nary","error_description":"secret-c4nary"}`: "does not say why in words of the standard",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer)
		}))
		login := loginAt(server.URL)
		_, err := login.Browser(t.Context(), server.Client(), func(address string) {
			u, _ := url.Parse(address)
			browse(t, u.Query().Get("redirect_uri")+"?code=c&state="+u.Query().Get("state"))
		})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c4nary") {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
		server.Close()
	}
}

// within is a transport to a handler in this process, so that a clock that does not
// run is enough.
type within struct {
	http.Handler
	polls []time.Time
}

func (w *within) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/oauth/token" {
		w.polls = append(w.polls, time.Now())
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, req)
	return rec.Result(), nil
}

// TestDevice: the code is shown, and asked about as often as the provider wants it.
func TestDevice(t *testing.T) {
	for _, tc := range []struct {
		name   string
		issuer provider.Issuer
		polls  []int // seconds after the code was shown
		want   string
	}{
		{"agreed", provider.Issuer{Person: "agrees"}, []int{5, 10, 15}, ""},
		{"slower", provider.Issuer{Person: "agrees", Poll: 2 * time.Second, Slow: 5 * time.Second}, []int{2, 9, 16}, ""},
		{"denied", provider.Issuer{Person: "denies"}, []int{5}, "the sign-in was refused, or was given up (400)"},
		{"nobody came", provider.Issuer{Person: "stays", Poll: 3 * time.Minute}, []int{180, 360, 540}, "the code was not typed in time"},
	} {
		synctest.Test(t, func(t *testing.T) {
			tc.issuer.Client = "app:s3cret-c4nary"
			p := provider.New(provider.Script{Issuer: &tc.issuer})
			w := &within{Handler: p}
			var shown oauth2.DeviceCode
			var at time.Time
			refresh, err := loginAt("http://login.test").Device(t.Context(), &http.Client{Transport: w}, func(c oauth2.DeviceCode) { shown, at = c, time.Now() })
			if shown.Code != "WDJB-MJHT" || !strings.HasSuffix(shown.Address, "/device") || !strings.HasSuffix(shown.Complete, "WDJB-MJHT") || shown.Ends.Sub(at).Round(time.Second) != 10*time.Minute {
				t.Errorf("%s: shown %+v", tc.name, shown)
			}
			var polls []int
			for _, poll := range w.polls {
				polls = append(polls, int(poll.Sub(at).Seconds()))
			}
			if len(polls) != len(tc.polls) {
				t.Fatalf("%s: asked after %v seconds, want %v", tc.name, polls, tc.polls)
			}
			for i := range polls {
				if polls[i] != tc.polls[i] {
					t.Errorf("%s: asked after %v seconds, want %v", tc.name, polls, tc.polls)
				}
			}
			if tc.want == "" && (err != nil || !p.Refreshes(refresh)) {
				t.Errorf("%s: got %q, %v", tc.name, refresh, err)
			}
			if refused, ok := errors.AsType[*oauth2.SignInError](err); tc.want != "" && (!ok || refused.Detail != tc.want) {
				t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
			}
		})
	}
}

// TestRevoke: a token that was taken back is worth nothing; one that the provider does
// not know is taken back already.
func TestRevoke(t *testing.T) {
	p, base := serveIssuer(t, "person=agrees refresh=r0")
	login := loginAt(base)
	for range 2 {
		if err := login.Revoke(t.Context(), http.DefaultClient, "r0"); err != nil || p.Refreshes("r0") {
			t.Errorf("%v, and the token is good: %t", err, p.Refreshes("r0"))
		}
	}
	login.ClientSecret = "wr0ng-c4nary"
	if err := login.Revoke(t.Context(), http.DefaultClient, "r0"); err == nil || err.Error() != "it did not take the token back (401)" {
		t.Errorf("by another client: %v", err)
	}
}

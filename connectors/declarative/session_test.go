package declarative_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/pacing"
)

// A house is an API behind a login: each login opens session-1, session-2 and so on,
// of which only the latest is good, for some requests.
type house struct {
	uses   int                                             // of a session; 0: any number
	give   func(w http.ResponseWriter, token string)       // the answer to a login
	takes  func(r *http.Request) (token string)            // what a request carries
	admits func(r *http.Request, body string) (status int) // what a login is answered; 200: a session

	mu    sync.Mutex
	asked []string
	n     int
	used  int
}

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.URL.Path == "/login" {
		h.asked = append(h.asked, fmt.Sprintf("%s login %s %s", r.Method, r.Header.Get("Content-Type"), body))
		if status := h.admits(r, string(body)); status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
		h.n++
		h.used = 0
		h.give(w, fmt.Sprint("session-", h.n))
		return
	}
	token := h.takes(r)
	h.asked = append(h.asked, "page "+token)
	h.used++
	if token != fmt.Sprint("session-", h.n) || h.uses > 0 && h.used > h.uses {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	io.WriteString(w, `{"data":[{"id":1}],"next":null}`)
}

// anyone is a login that is always right.
func anyone(*http.Request, string) int { return http.StatusOK }

// visit asks a house n times for a page through the client that governs all requests,
// and returns the stop of the last one.
func visit(t *testing.T, h *house, auth string, n int) (*collection.Stop, collection.Tally) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c, err := build(t, `
connector: house
params: {unit: {default: u1}}
secrets: {user: {env: U}, password: {env: P}}
provider: {base_url: "`+server.URL+`", pace: off, auth: `+auth+`}
streams: {things: {get: /things, key: id, records: data, page: {cursor: {from: next, param: after, optional: true}}}}
`, declarative.Options{Secrets: map[string]declarative.SecretValue{"user": {Value: "ann@acme.test", From: "env U"}, "password": {Value: `p"a&ss=w0rd`, From: "env P"}}})
	if err != nil {
		t.Fatal(err)
	}
	budget := pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 50})
	g, err := pacing.New(pacing.Config{Provider: c.Provider(), Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var stop *collection.Stop
	for range n {
		stop = nil
		for _, err := range c.Slices(t.Context(), g.Client(), things0, collection.Cursor{}) {
			if err != nil {
				var ok bool
				if stop, ok = errors.AsType[*collection.Stop](err); !ok {
					t.Fatal(err)
				}
			}
			break
		}
	}
	return stop, budget.Tally()
}

func inBody(w http.ResponseWriter, token string) {
	fmt.Fprintf(w, `{"data":{"token":%q}}`, token)
}

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// TestSession: the token of a login is found where the file says, and sent as it
// says; what the login sends is what the file has, with its secrets escaped.
func TestSession(t *testing.T) {
	const asJSON = `{post: /login, json: {unit: "${params.unit}", auth: {user: "${secrets.user}", password: "${secrets.password}"}}, `
	const asForm = `{post: /login, form: {user: "${secrets.user}", password: "${secrets.password}"}, `
	asked := map[string]string{
		asJSON: `POST login application/json {"unit":"u1","auth":{"user":"ann@acme.test","password":"p\"a&ss=w0rd"}}`,
		asForm: "POST login application/x-www-form-urlencoded user=ann%40acme.test&password=p%22a%26ss%3Dw0rd",
	}
	for _, tc := range []struct {
		login, rest string
		give        func(http.ResponseWriter, string)
		takes       func(*http.Request) string
	}{
		{asJSON, `token: data.token}`, inBody, bearer},
		{asForm, `token: data.token, send: {header: X-Token, prefix: "T "}}`, inBody, func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("X-Token"), "T ") }},
		{asForm, `token: data.token, send: {cookie: sid}}`, inBody, func(r *http.Request) string { c, _ := r.Cookie("sid"); return c.Value }},
		{asForm, `header: X-Subject-Token, send: {header: X-Auth-Token}}`, func(w http.ResponseWriter, token string) { w.Header().Set("X-Subject-Token", token) },
			func(r *http.Request) string { return r.Header.Get("X-Auth-Token") }},
		{asForm, `cookie: sid}`, func(w http.ResponseWriter, token string) {
			http.SetCookie(w, &http.Cookie{Name: "other", Value: "x"})
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: token, HttpOnly: true, Path: "/"})
			w.WriteHeader(http.StatusFound) // as a form of a browser is answered
		}, func(r *http.Request) string { c, _ := r.Cookie("sid"); return c.Value }},
		{asForm, `cookie: sid, send: bearer}`, func(w http.ResponseWriter, token string) {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: token})
		}, bearer},
	} {
		h := &house{give: tc.give, takes: tc.takes, admits: anyone}
		stop, tally := visit(t, h, "{session: "+tc.login+tc.rest+"}", 2)
		if want := []string{asked[tc.login], "page session-1", "page session-1"}; stop != nil || !slices.Equal(h.asked, want) {
			t.Errorf("%s: %v, asked %q, want %q", tc.rest, stop, h.asked, want)
		}
		if tally.Requests != 3 {
			t.Errorf("%s: %d requests are counted, want the login and 2 pages", tc.rest, tally.Requests)
		}
	}
}

// TestSessionEnds: a session that is refused is opened once more; a login that is
// refused ends the run, and is not tried again.
func TestSessionEnds(t *testing.T) {
	const auth = `{session: {post: /login, json: {user: me, password: "${secrets.password}"}, token: data.token}}`
	for _, tc := range []struct {
		name   string
		h      *house
		pages  int
		want   string // "login" or "page N", in short
		reason collection.Reason
		status int
		login  bool // it is the login that is to blame
	}{
		{"two pages a session", &house{uses: 2}, 5, "L 1 1 1 L 2 2 2 L 3", "", 0, false},
		{"none is good", &house{takes: func(*http.Request) string { return "lost" }}, 1, "L lost L lost", collection.Auth, 401, false},
		{"a wrong password", &house{admits: func(*http.Request, string) int { return 401 }}, 3, "L", collection.Auth, 401, true},
		{"a wrong form", &house{admits: func(*http.Request, string) int { return 400 }}, 1, "L", collection.Auth, 400, true},
		{"locked", &house{admits: func(*http.Request, string) int { return 403 }}, 1, "L", collection.Auth, 403, true},
		{"no token", &house{give: func(w http.ResponseWriter, _ string) { io.WriteString(w, `{"data":{"token":null}}`) }}, 1, "L", collection.Auth, 200, true},
		{"no JSON", &house{give: func(w http.ResponseWriter, _ string) { io.WriteString(w, `<html>`) }}, 1, "L", collection.Auth, 200, true},
		{"a token that splits a header", &house{give: func(w http.ResponseWriter, _ string) { inBody(w, "x\r\ny") }}, 1, "L", collection.Auth, 200, true},
	} {
		h := tc.h
		if h.give == nil {
			h.give = inBody
		}
		if h.takes == nil {
			h.takes = bearer
		}
		if h.admits == nil {
			h.admits = anyone
		}
		stop, _ := visit(t, h, auth, tc.pages)
		var got []string
		for _, asked := range h.asked {
			if _, page, ok := strings.Cut(asked, "page "); ok {
				got = append(got, strings.TrimPrefix(page, "session-"))
			} else {
				got = append(got, "L")
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: asked %q, want %q", tc.name, got, tc.want)
		}
		if (stop == nil) != (tc.reason == "") || stop != nil && (stop.Reason != tc.reason || stop.Status != tc.status || errors.Is(stop, declarative.ErrLogin) != tc.login) {
			t.Errorf("%s: %v, want %s (%d)", tc.name, stop, tc.reason, tc.status)
		}
		if stop != nil {
			said, _ := json.Marshal(stop)
			if strings.Contains(stop.Error()+string(said), "w0rd") {
				t.Errorf("%s: the stop shows the password: %v", tc.name, stop)
			}
		}
	}
}

// TestSessionIsOfAnAccount: another user is another account, and the password does
// not go where the API is not, but for the login.
func TestSessionIsOfAnAccount(t *testing.T) {
	const src = `
connector: house
secrets: {password: {env: P}}
provider: {base_url: https://api.test, auth: {session: {post: "https://login.test/in", form: {user: me, password: "${secrets.password}"}, token: t}}}
streams: {things: {get: /things, key: id, page: {none: true}}}
`
	of := func(password string) collection.Provider {
		c, err := build(t, src, declarative.Options{Secrets: map[string]declarative.SecretValue{"password": {Value: password}}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Provider()
	}
	if one, other := of("correct-horse"), of("battery-staple"); one.Credential == other.Credential {
		t.Error("two logins are one account")
	} else if !slices.Contains(one.Renewal.Secrets(), "correct-horse") {
		t.Error("the password is not known as a secret")
	}
	spec, err := declarative.Parse("house.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	to, err := spec.Recipients("password", nil)
	if want := []string{"https://api.test", "https://login.test"}; err != nil || !slices.Equal(to, want) {
		t.Errorf("the password goes to %q, %v; want %q", to, err, want)
	}
}

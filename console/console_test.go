package console_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/console"
	"collect/engine"
	"collect/engine/enginetest"
	"collect/engine/registry"
	"collect/engine/storage"
)

// acme makes a store in which acme ran once and owes two gaps that a person must act on.
func acme(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.db")
	db, _, err := storage.OpenForRun(t.Context(), path, storage.CreateInFolder)
	if err != nil {
		t.Fatal(err)
	}
	started := collection.Run{ID: "01JD7X0000000000", Connector: "acme", Mode: collection.Forward, Lane: collection.Incremental, Domain: "acme/1", StartedAt: time.Now()}
	l, err := db.Begin(t.Context(), started, []collection.Stream{{Name: "issues"}})
	if err != nil {
		t.Fatal(err)
	}
	budget := []collection.Ceiling{{Count: 20000, Per: 24 * time.Hour}}
	if err := l.SaveProvider(t.Context(), "acme/1", enginetest.GateState(t, collection.Provider{Name: "acme", Ceilings: budget}, time.Now())); err != nil {
		t.Fatal(err)
	}
	gap := collection.Gap{Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, Shape: collection.SliceGap, Reason: collection.BadPage, OpenedAt: time.Now()}
	refused := collection.Gap{Place: collection.Place{Stream: "issues", Partition: "x", Lane: collection.Incremental}, Shape: collection.SliceGap, Reason: collection.Forbidden, OpenedAt: time.Now()}
	if _, err := l.Defer(t.Context(), true, gap, refused); err != nil {
		t.Fatal(err)
	}
	started.Outcome, started.ExitCode, started.EndedAt = collection.Blocked, 76, time.Now()
	if err := l.Finish(t.Context(), started); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A site is a console with its address, and how to sign in.
type site struct {
	*httptest.Server
	console *console.Server
}

// start starts a console over the store at path.
func start(t testing.TB, path string, change func(*console.Config)) site {
	t.Helper()
	c := console.Config{
		Library: console.NewLibrary(path), State: path, Named: true, User: "ana", Version: "test",
		Meeting: engine.Meeting{Registry: &registry.Registry{Env: func(string) string { return "" }}},
	}
	if change != nil {
		change(&c)
	}
	server := httptest.NewUnstartedServer(nil)
	s, err := console.New(c, server.Listener.Addr())
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s
	server.Start()
	t.Cleanup(server.Close)
	return site{server, s}
}

// A browser is a client with a jar for cookies that follows no redirects.
func browser(t testing.TB) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// signIn returns a browser that is signed in.
func (s site) signIn(t testing.TB, role console.Role) *http.Client {
	t.Helper()
	b := browser(t)
	if answer := s.post(t, b, strings.TrimPrefix(s.console.Link(s.URL, "ana", role), s.URL), nil); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("signing in: %s", answer.Status)
	}
	return b
}

func (s site) get(t testing.TB, b *http.Client, path string) *http.Response {
	t.Helper()
	answer, err := b.Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func (s site) post(t testing.TB, b *http.Client, path string, form url.Values) *http.Response {
	t.Helper()
	answer, err := b.PostForm(s.URL+path, form)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// says checks the status of an answer, and that its page holds all of the texts.
func says(t *testing.T, answer *http.Response, status int, texts ...string) (page string) {
	t.Helper()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status {
		t.Errorf("%s %s: %s, want %d", answer.Request.Method, answer.Request.URL.Path, answer.Status, status)
	}
	for _, text := range texts {
		if !strings.Contains(string(body), text) {
			t.Errorf("%s %s does not say %q:\n%s", answer.Request.Method, answer.Request.URL.Path, text, body)
		}
	}
	return string(body)
}

// pages are all that a person can open in the store of [acme].
var pages = []string{"/", "/connectors", "/connectors?q=stuck", "/connectors/acme", "/providers", "/providers/acme%2F1", "/runs", "/runs/01JD7X0000000000", "/gaps", "/gaps?who=person", "/gaps/g_1", "/audit", "/settings", "/settings?days=90"}

func TestPages(t *testing.T) {
	s := start(t, acme(t), nil)
	b := s.signIn(t, console.Viewer)
	for _, path := range pages {
		page := says(t, s.get(t, b, path), http.StatusOK, "<h1>")
		for _, inline := range []string{"style=", "<style", "onclick", "javascript:", "<script>"} {
			if strings.Contains(page, inline) {
				t.Errorf("%s has %s, which its policy forbids", path, inline)
			}
		}
	}
	says(t, s.get(t, b, "/"), http.StatusOK, "1 connector, 1 needs you", "Gaps owed, last 14 days", "2 now; 2 wait for a person", "<span aria-hidden=\"true\">×</span> Stuck")
	says(t, s.get(t, b, "/gaps/g_1"), http.StatusOK, "collect resume acme")
}

// TestStranger: who has no session sees no fact.
func TestStranger(t *testing.T) {
	s := start(t, acme(t), nil)
	for _, path := range pages {
		if page := says(t, s.get(t, browser(t), path), http.StatusUnauthorized, "You are not signed in", "collect serve"); strings.Contains(page, "issues") || strings.Contains(page, "Stuck") {
			t.Errorf("%s tells a stranger a fact", path)
		}
	}
	says(t, s.get(t, browser(t), "/live"), http.StatusUnauthorized)
	says(t, s.get(t, browser(t), "/healthz"), http.StatusOK, "ok")
	says(t, s.get(t, browser(t), "/readyz"), http.StatusOK, "ready")
}

// TestLink: a link signs in once; who only looks at it does not use it up.
func TestLink(t *testing.T) {
	s := start(t, acme(t), nil)
	link := strings.TrimPrefix(s.console.Link(s.URL, "ana", console.Operator), s.URL)
	says(t, s.get(t, browser(t), link), http.StatusOK, "<b>ana</b>", "operator")
	b := browser(t)
	if answer := s.post(t, b, link, nil); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/" {
		t.Fatalf("signing in: %s to %s", answer.Status, answer.Header.Get("Location"))
	}
	says(t, s.get(t, b, "/"), http.StatusOK)
	for _, wrong := range []string{link, "/login?link=AAAA", "/login"} {
		says(t, s.get(t, browser(t), wrong), http.StatusForbidden, "does not sign in", "collect serve")
		says(t, s.post(t, browser(t), wrong, nil), http.StatusForbidden, "does not sign in")
	}
	s.post(t, b, "/logout", nil)
	says(t, s.get(t, b, "/"), http.StatusUnauthorized)
}

func TestForeignHost(t *testing.T) {
	s := start(t, acme(t), func(c *console.Config) { c.URL, _ = url.Parse("https://Ops.example/collect/") })
	for host, status := range map[string]int{
		"evil.example": http.StatusMisdirectedRequest, "evil.example:8765": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"localhost:1": http.StatusUnauthorized, "127.0.0.1": http.StatusUnauthorized, "[::1]:8765": http.StatusUnauthorized, "ops.example": http.StatusUnauthorized, "OPS.example:443": http.StatusUnauthorized,
	} {
		r, _ := http.NewRequest(http.MethodGet, s.URL+"/collect/", nil)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != status {
			t.Errorf("Host %s: %s, want %d", host, answer.Status, status)
		}
	}
}

// TestForeignOrigin: an order from a page of another site is refused, also of who is
// signed in.
func TestForeignOrigin(t *testing.T) {
	s := start(t, acme(t), nil)
	b := s.signIn(t, console.Operator)
	for _, head := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}}} {
		r, _ := http.NewRequest(http.MethodPost, s.URL+"/logout", nil)
		r.Header = head
		answer, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		says(t, answer, http.StatusForbidden, "page of another site", "Nothing was changed")
		answer.Body.Close()
	}
	says(t, s.get(t, b, "/"), http.StatusOK)
}

func TestUnknownPages(t *testing.T) {
	s := start(t, acme(t), nil)
	b := s.signIn(t, console.Viewer)
	for path, text := range map[string]string{
		"/nowhere": "no page here", "/connectors/acne": "No connector named", "/providers/none": "No account",
		"/runs/01": "There is no run", "/gaps/g_9": "No gap", "/gaps/x": "No gap", "/assets/0/none.css": "404",
	} {
		says(t, s.get(t, b, path), http.StatusNotFound, text)
	}
	says(t, s.get(t, b, "/connectors/acne"), http.StatusNotFound, `href="/connectors/acme"`)
}

// TestPrefix: behind a proxy, all links have the path that people type, and a proxy may
// take it away or leave it.
func TestPrefix(t *testing.T) {
	s := start(t, acme(t), func(c *console.Config) { c.URL, _ = url.Parse("https://ops.example/collect") })
	if link := s.console.Link(s.URL, "ana", console.Viewer); !strings.HasPrefix(link, "https://ops.example/collect/login?link=") {
		t.Errorf("the link is %s", link)
	}
	link, _ := url.Parse(s.console.Link(s.URL, "ana", console.Viewer))
	answer := s.post(t, browser(t), "/collect/login?"+link.RawQuery, nil)
	cookie := answer.Cookies()[0]
	if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/collect" || answer.Header.Get("Location") != "/collect/" {
		t.Errorf("cookie %v, to %s", cookie, answer.Header.Get("Location"))
	}
	for _, path := range []string{"/collect/gaps", "/gaps", "/collect"} {
		r, _ := http.NewRequest(http.MethodGet, s.URL+path, nil)
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		says(t, answer, http.StatusOK, `href="/collect/gaps"`)
		answer.Body.Close()
	}
}

func TestHeaders(t *testing.T) {
	s := start(t, acme(t), nil)
	for _, path := range []string{"/", "/nowhere", "/login", "/healthz"} {
		head := s.get(t, browser(t), path).Header
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if got := head.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

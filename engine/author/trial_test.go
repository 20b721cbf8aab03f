package author_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
	"collect/engine/author"
	"collect/engine/registry"
	"collect/internal/certtest"
	"collect/report/problem"
)

// try returns the first page of the stream x of a connector, which handler answers.
func try(t *testing.T, stream string, handler http.HandlerFunc) author.Page {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	spec, err := declarative.Parse("a.yaml", []byte("connector: a\nprovider: {base_url: "+server.URL+"}\nstreams: {x: "+stream+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := spec.Build(declarative.Options{})
	if err != nil {
		t.Fatal(err)
	}
	trial, err := author.Begin(t.Context(), author.Config{Target: registry.Target{Connector: connector, Spec: spec}})
	if err != nil {
		t.Fatal(err)
	}
	defer trial.Close(t.Context())
	return trial.Pages(t.Context(), "x", 1)[0]
}

// TestAWindowThatIsRefused: what is wrong is the window, and no rule may take its
// refusal for the end of the list. On a later page it may be that end.
func TestAWindowThatIsRefused(t *testing.T) {
	for _, test := range []struct {
		stream string
		want   bool
	}{
		{"{get: /x, query: {from: '${window.from}', to: '${window.to}'}, windows: {from: 2026-01-01, step: 7d, lookback: 1h}, key: id, page: {number: {param: p}}}", true},
		{"{get: /x, key: id, page: {number: {param: p}}}", false},
	} {
		page := try(t, test.stream, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "from is no date", http.StatusUnprocessableEntity)
		})
		scene := problem.Scene{Provider: "a", Connector: "a", Stream: "x", Stands: true}
		told := problem.Of(page.Err, scene)
		advised := strings.Contains(fmt.Sprint(told.Do), "verdict: ok")
		if page.Status != 422 || errors.Is(page.Err, collection.ErrWindow) != test.want || advised == test.want || strings.Contains(told.Note, "`format` of `windows`") != test.want {
			t.Errorf("%s: %v, and the advice is %q, %v", test.stream, page.Err, told.Note, told.Do)
		}
	}
}

// TestTrialShowsWhatIsSent: and no header that only tells the client something.
func TestTrialShowsWhatIsSent(t *testing.T) {
	var sent http.Header
	page := try(t, "{post: /x, json: {a: 1}, key: id, page: {none: true}}", func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header
		w.Write([]byte(`[{"id": 1}]`))
	})
	if page.Err != nil || page.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%+v", page)
	}
	for name := range page.Header {
		if _, ok := sent[name]; !ok {
			t.Errorf("the header %s is shown, and was not sent", name)
		}
	}
}

// TestTrialShowsTheClientCertificate: a file is tried by the connections that a run has.
func TestTrialShowsTheClientCertificate(t *testing.T) {
	ours := certtest.New(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `[{"id":1}]`) }))
	server.TLS = ours.Server(t, tls.RequireAndVerifyClientCert)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	spec, err := declarative.Parse("a.yaml", []byte(`connector: a
secrets: {cert: {env: CERT, optional: true}, key: {env: KEY, optional: true}, ca: {env: CA}}
provider: {base_url: `+server.URL+`, tls: {certificate: "${secrets.cert}", key: "${secrets.key}", ca: "${secrets.ca}"}}
streams: {x: {get: /x, key: id, page: {none: true}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	pair := ours.Pair(t, time.Now().Add(time.Hour))
	for _, test := range []struct{ cert, key, want string }{{pair.Certificate, pair.Key, "ok"}, {"", "", "auth"}} {
		connector, err := spec.Build(declarative.Options{Secrets: map[string]declarative.SecretValue{"cert": {Value: test.cert}, "key": {Value: test.key}, "ca": {Value: ours.PEM}}})
		if err != nil {
			t.Fatal(err)
		}
		trial, err := author.Begin(t.Context(), author.Config{Target: registry.Target{Connector: connector, Spec: spec}})
		if err != nil {
			t.Fatal(err)
		}
		if page := trial.Pages(t.Context(), "x", 1)[0]; page.Verdict != test.want {
			t.Errorf("the page is %s, %v; want %s", page.Verdict, page.Err, test.want)
		}
		trial.Close(t.Context())
	}
}

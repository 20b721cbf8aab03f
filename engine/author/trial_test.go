package author_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"collect/connectors/declarative"
	"collect/engine/author"
	"collect/engine/registry"
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

package pacing_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"collect/collection"
	"collect/pacing"
)

// TestRealSockets sends a few requests over loopback.
func TestRealSockets(t *testing.T) {
	var credentials int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer s3cret" {
			credentials++
		}
		io.WriteString(w, `{"ok":true}`)
	}))
	defer srv.Close()
	g, err := pacing.New(pacing.Config{Provider: collection.Provider{
		Name: "acme", Origins: []string{srv.URL}, Unpaced: true,
		Authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer s3cret") },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for range 3 {
		resp, err := g.Client().Get(srv.URL + "/records")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if got, want := string(body), `{"ok":true}`; err != nil || got != want {
			t.Errorf("body %q, %v, want %q", got, err, want)
		}
		resp.Body.Close()
	}
	if credentials != 3 {
		t.Errorf("%d requests came with the credential, want 3", credentials)
	}
}

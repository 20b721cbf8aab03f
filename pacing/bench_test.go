package pacing_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// BenchmarkAdmit decides, records the departure and records the result, with
// two ceilings and nobody else there.
func BenchmarkAdmit(b *testing.B) {
	ceilings := []collection.Ceiling{{Count: 1e9, Per: time.Second}, {Count: 1e9, Per: time.Hour}}
	g, err := gate.New(collection.Provider{Ceilings: ceilings}, "", time.Minute, 1)
	if err != nil {
		b.Fatal(err)
	}
	now := time.Unix(1e9, 0)
	g.Plan(gate.Request{}, now) // the first one waits
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		if !g.Plan(gate.Request{}, now).Ready {
			b.Fatal("a request a second was held back")
		}
		g.Settle(now, g.Leave(gate.Request{}, now), law.Outcome{Signal: law.Succeeded, Hold: -1})
	}
}

// BenchmarkGovernor is a whole request through the client, with a provider
// that costs nothing: the governor's own cost.
func BenchmarkGovernor(b *testing.B) {
	g := unpaced(b, answerer{}, "https://provider.test")
	b.ReportAllocs()
	for b.Loop() {
		get(b, g, "https://provider.test/records")
	}
}

// BenchmarkClient is a whole request over loopback; BenchmarkPlainClient is
// the same without a governor.
func BenchmarkClient(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(page))
	defer srv.Close()
	g := unpaced(b, nil, srv.URL)
	for b.Loop() {
		get(b, g, srv.URL)
	}
}

func BenchmarkPlainClient(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(page))
	defer srv.Close()
	for b.Loop() {
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func page(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[{"id":1}]`) }

// An answerer is a provider that answers at once.
type answerer struct{}

func (answerer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody}, nil
}

func unpaced(b *testing.B, base http.RoundTripper, origin string) *pacing.Governor {
	g, err := pacing.New(pacing.Config{
		Provider: collection.Provider{
			Name: "acme", Origins: []string{origin}, Unpaced: true,
			Authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer s3cret") },
		},
		Base: base,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	return g
}

func get(b *testing.B, g *pacing.Governor, url string) {
	resp, err := g.Client().Get(url)
	if err != nil {
		b.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

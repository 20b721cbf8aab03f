package pacing_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
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
	request, outcome := &gate.Request{}, &gate.Outcome{Signal: law.Succeeded, Hold: -1}
	now := time.Now()    // with a monotonic reading, as in production
	g.Plan(request, now) // the first one waits
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		if !g.Plan(request, now).Ready {
			b.Fatal("a request a second was held back")
		}
		g.Settle(now, g.Leave(request, now), outcome)
	}
}

// BenchmarkBareGCRA is the least that a limiter can do, to compare with: a
// mutex around GCRA with one interval, a request a second.
func BenchmarkBareGCRA(b *testing.B) {
	var mu sync.Mutex
	var tat time.Time
	now := time.Now() // with a monotonic reading, as in production
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		mu.Lock()
		if tat.After(now) {
			b.Fatal("a request a second was held back")
		}
		tat = now.Add(time.Millisecond)
		mu.Unlock()
	}
}

// BenchmarkDomains measures what a pacing domain occupies that has sent some
// requests, as fast as it may under two ceilings. What grows with the
// requests is what the ceilings must remember, up to their windows.
func BenchmarkDomains(b *testing.B) {
	for _, requests := range []int{0, 100, 1000} {
		b.Run(fmt.Sprint(requests), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(occupied(b, 1000, requests), "B/domain")
			}
		})
	}
}

// TestTenThousandDomains that have sent a hundred requests each, ten a second, fit
// in 50 MB.
func TestTenThousandDomains(t *testing.T) {
	if got := occupied(t, 1000, 100); got > 5000 {
		t.Errorf("a domain occupies %.0f bytes, so 10,000 of them %.0f MB, want at most 50", got, got/100)
	}
}

// occupied returns the bytes that one of n gates occupies after some requests.
func occupied(tb testing.TB, n, requests int) float64 {
	ceilings := []collection.Ceiling{{Count: 10, Per: time.Second}, {Count: 5000, Per: time.Hour}}
	gates := make([]*gate.Gate, n)
	before := heap()
	for i := range gates {
		g, err := gate.New(collection.Provider{Ceilings: ceilings}, "", time.Minute, 4)
		if err != nil {
			tb.Fatal(err)
		}
		now := time.Unix(1e9, 0)
		for range requests {
			if p := g.Plan(&gate.Request{}, now); !p.Ready {
				now = p.Until
			}
			g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Succeeded, Hold: -1})
		}
		gates[i] = g
	}
	each := float64(heap()-before) / float64(n)
	runtime.KeepAlive(gates)
	return each
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
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

package pacing_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

const (
	ms   = time.Millisecond
	acme = "https://acme.test"
)

// A memory is a provider in memory. It answers with its handler, which may
// sleep, and remembers when requests came, and with what.
type memory struct {
	http.Handler

	mu       sync.Mutex
	arrivals []time.Time
	requests []*http.Request
	inside   int
	most     int // requests at the same time
}

func serve(h http.HandlerFunc) *memory { return &memory{Handler: h} }

func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.arrivals = append(m.arrivals, time.Now())
	m.requests = append(m.requests, r)
	m.inside++
	m.most = max(m.most, m.inside)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.inside--
		m.mu.Unlock()
	}()
	w := httptest.NewRecorder()
	done := make(chan error, 1)
	go func() {
		defer close(done)
		defer func() {
			if err, ok := recover().(error); ok {
				done <- err
			}
		}()
		m.ServeHTTP(w, r)
	}()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return w.Result(), nil
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.arrivals)
}

// gaps returns the times between requests, the first one after start.
func (m *memory) gaps(start time.Time) []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var gaps []time.Duration
	for _, at := range m.arrivals {
		gaps = append(gaps, at.Sub(start))
		start = at
	}
	return gaps
}

// statuses answers with one status after another, and with the last for ever.
func statuses(codes ...int) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		code := codes[0]
		if len(codes) > 1 {
			codes = codes[1:]
		}
		w.WriteHeader(code)
	}
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{}`) }

// retryAfter answers 429 with Retry-After once, and 200 then.
func retryAfter(value string) http.HandlerFunc {
	var once sync.Once
	return func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(429)
		})
	}
}

// A disk keeps the last state that was saved.
type disk struct {
	mu     sync.Mutex
	state  []byte
	events []collection.Event
	saves  int
	err    error
	slow   time.Duration
}

func (d *disk) save(_ context.Context, state []byte, events ...collection.Event) error {
	d.mu.Lock()
	slow := d.slow
	d.mu.Unlock()
	time.Sleep(slow)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return d.err
	}
	d.saves++
	d.state = slices.Clone(state)
	d.events = append(d.events, events...)
	return nil
}

// degrade makes d slow, or broken, from the first request that h answers.
func (d *disk) degrade(slow time.Duration, err error, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.slow, d.err = slow, err
		d.mu.Unlock()
		h(w, r)
	}
}

// freezes returns how many freezes were saved.
func (d *disk) freezes() (n int) {
	for _, e := range d.events {
		if e.Freeze != nil {
			n++
		}
	}
	return n
}

// A journal keeps what was observed.
type journal struct {
	mu     sync.Mutex
	events []collection.Event
}

func (j *journal) observe(e collection.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// of returns the events of a kind, when everybody has told.
func (j *journal) of(kind collection.EventKind) []collection.Event {
	synctest.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	var of []collection.Event
	for _, e := range j.events {
		if e.Kind == kind {
			of = append(of, e)
		}
	}
	return of
}

// govern returns a governor for acme with c's other fields, and counts the
// waits of every attempt: two in one attempt fail the test.
func govern(t *testing.T, c pacing.Config) *pacing.Governor {
	t.Helper()
	c.Provider.Name = "acme"
	if c.Provider.Origins == nil {
		c.Provider.Origins = []string{acme}
	}
	g, err := pacing.New(c)
	if err != nil {
		t.Fatal(err)
	}
	g.SetProbe(func(waits int) {
		if waits > 1 {
			t.Errorf("an attempt waited %d times, want at most once", waits)
		}
	})
	t.Cleanup(g.Close)
	return g
}

// fetch gets a page and returns its status; 0 with an error.
func fetch(t *testing.T, g *pacing.Governor) (int, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, acme+"/records?cursor=c0ffee", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Client().Do(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

// mustFetch gets a page that must be there.
func mustFetch(t *testing.T, g *pacing.Governor) {
	t.Helper()
	if status, err := fetch(t, g); err != nil || status >= 400 {
		t.Fatalf("fetch = %d, %v", status, err)
	}
}

// stopOf gets a page and returns the stop that prevents it.
func stopOf(t *testing.T, g *pacing.Governor) *collection.Stop {
	t.Helper()
	status, err := fetch(t, g)
	stop, ok := errors.AsType[*collection.Stop](err)
	if !ok {
		t.Fatalf("fetch = %d, %v, want a stop", status, err)
	}
	return stop
}

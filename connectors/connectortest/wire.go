package connectortest

import (
	"net/http"
	"sync"

	"collect/collection"
)

// A wire counts requests, and lets one of them fail.
type wire struct {
	next http.RoundTripper
	fail int // the request that fails, from 0 on; -1 for none
	err  error

	mu   sync.Mutex
	seen []string // the stream of each request
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	n := len(w.seen)
	w.seen = append(w.seen, collection.StreamOf(req.Context()))
	w.mu.Unlock()
	if n == w.fail {
		return nil, w.err
	}
	return w.next.RoundTrip(req)
}

func (w *wire) sent() int { return len(w.streams()) }

func (w *wire) streams() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// client returns c with w as its transport.
func (w *wire) client(c *http.Client) *http.Client {
	wired := *c
	wired.Transport = w
	return &wired
}

func transport(c *http.Client) http.RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	return http.DefaultTransport
}

// A timeless transport takes away the date of the answers: it may be in a
// cursor, and the cursors of one walk are compared with those of another.
type timeless struct{ next http.RoundTripper }

func (t timeless) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Header.Del("Date")
	}
	return resp, err
}

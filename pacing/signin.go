package pacing

import (
	"net/http"
	"time"

	"collect/collection"
)

// NewSignInClient returns a client for the few requests of a person who signs in.
// They are no requests of an account, which there is not before them, so that no gate
// paces them. The client follows no redirect: what it sends is for one address. t is
// what connections need; nil: nothing.
func NewSignInClient(t *collection.TLS) *http.Client {
	return ungoverned(t, collection.Limits{}.WithDefaults().Request)
}

// NewNoticeClient returns a client for a message to a service that its user named: that
// is no provider, and gets one request or two from a command. It follows no redirect.
func NewNoticeClient(patience time.Duration) *http.Client { return ungoverned(nil, patience) }

func ungoverned(t *collection.TLS, patience time.Duration) *http.Client {
	return &http.Client{
		Transport:     named{NewTransport(collection.Provider{TLS: t}, 1)},
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A named transport says who asks.
type named struct{ next http.RoundTripper }

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.Header.Set("User-Agent", userAgent())
	return n.next.RoundTrip(out)
}

func (n named) CloseIdleConnections() {
	if next, ok := n.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

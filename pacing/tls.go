package pacing

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"collect/collection"
)

// NewTransport returns what sends the requests to a provider. The origins that its TLS
// is for have connections of their own: no other origin can come to be shown its
// certificate, or to be trusted for its authorities.
func NewTransport(p collection.Provider, concurrency int) http.RoundTripper {
	limits := p.Limits.WithDefaults()
	others := newTransport(concurrency, limits)
	if p.TLS == nil {
		return &once{next: others}
	}
	own := newTransport(concurrency, limits)
	own.TLSClientConfig = &tls.Config{RootCAs: p.TLS.Authorities, MinVersion: tls.VersionTLS12}
	if shown := p.TLS.Certificate; shown != nil {
		// It is shown whatever authorities a server names, some of which forget
		// one: then the server says what is wrong with it.
		own.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil }
		own.Proxy = plainProxy(own.Proxy)
	}
	return &once{next: byOrigin{own: own, origins: p.TLS.Origins, others: others}}
}

// errTLSProxy: net/http greets a proxy of an https address as it greets the provider.
var errTLSProxy = errors.New("a proxy that speaks TLS would be shown the client certificate: name one with an http address")

// plainProxy refuses proxies that speak TLS.
func plainProxy(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		via, err := proxy(req)
		if err == nil && via != nil && via.Scheme == "https" {
			return nil, errTLSProxy
		}
		return via, err
	}
}

// A byOrigin transport sends to some origins by connections of their own.
type byOrigin struct {
	own, others *http.Transport
	origins     []string
}

func (t byOrigin) RoundTrip(req *http.Request) (*http.Response, error) {
	if slices.Contains(t.origins, collection.Origin(req.URL)) {
		return t.own.RoundTrip(req)
	}
	return t.others.RoundTrip(req)
}

func (t byOrigin) CloseIdleConnections() {
	t.own.CloseIdleConnections()
	t.others.CloseIdleConnections()
}

package pacing_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"collect/collection"
	"collect/pacing"
)

// TestProxiesThatSpeakTLS: a proxy of an https address would be greeted as the provider
// is, and shown its certificate.
func TestProxiesThatSpeakTLS(t *testing.T) {
	req, err := http.NewRequest(http.MethodGet, "https://api.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for address, passes := range map[string]bool{"": true, "http://proxy.test:3128": true, "socks5://proxy.test:1080": true, "https://proxy.test": false} {
		via, err := pacing.PlainProxy(func(*http.Request) (*url.URL, error) {
			if address == "" {
				return nil, nil
			}
			return url.Parse(address)
		})(req)
		if (err == nil) != passes || passes && (via != nil) != (address != "") {
			t.Errorf("%q: %v, %v", address, via, err)
		}
		if err == nil {
			continue
		}
		refuse := func(*http.Request) (*http.Response, error) { return nil, err }
		g := govern(t, pacing.Config{Base: sends(refuse), Provider: collection.Provider{Unpaced: true}})
		if stop := stopOf(t, g); stop.Reason != collection.UpstreamPressure || !strings.Contains(stop.Detail, "would be shown the client certificate") {
			t.Errorf("it is told as %+v", stop)
		}
	}
}

// TestRedirectWithACertificate: a certificate is a credential, which no redirect may
// lead from https to http.
func TestRedirectWithACertificate(t *testing.T) {
	away := func(req *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}
		if req.URL.Scheme == "https" {
			resp.StatusCode, resp.Header = 302, http.Header{"Location": {"http://acme.test/x"}}
		}
		return resp, nil
	}
	for _, shown := range []bool{false, true} {
		p := collection.Provider{Unpaced: true, Origins: []string{acme, "http://acme.test"}}
		if shown {
			p.TLS = &collection.TLS{Origins: p.Origins, Certificate: &tls.Certificate{Leaf: &x509.Certificate{}}}
		}
		_, err := fetch(t, govern(t, pacing.Config{Base: sends(away), Provider: p}))
		if refused := err != nil && strings.Contains(err.Error(), "from https to http"); refused != shown {
			t.Errorf("with a certificate, %t: %v", shown, err)
		}
	}
}

type sends func(*http.Request) (*http.Response, error)

func (f sends) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package declarative_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
	"collect/internal/certtest"
	"collect/pacing"
)

// A greeter is a real server that speaks TLS, and notes what its clients showed.
type greeter struct {
	URL string

	mu    sync.Mutex
	shown []bool // a certificate, by request
}

// greet starts a server that a signed, and that asks for a certificate in a way.
func greet(t *testing.T, a *certtest.Authority, asks tls.ClientAuthType, newest uint16, handler http.HandlerFunc) *greeter {
	t.Helper()
	g := &greeter{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.shown = append(g.shown, len(r.TLS.PeerCertificates) > 0)
		g.mu.Unlock()
		handler(w, r)
	}))
	server.TLS = a.Server(t, asks)
	server.TLS.MaxVersion = newest
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

func (g *greeter) showed() []bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shown
}

func aPage(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[{"id":1}]`) }

// with gives secrets their values; "" is none.
func with(values map[string]string) map[string]declarative.SecretValue {
	given := map[string]declarative.SecretValue{}
	for name, value := range values {
		if value != "" {
			given[name] = declarative.SecretValue{Value: value, From: "file " + name}
		}
	}
	return given
}

// secured is a connector for a provider with a private authority.
func secured(t *testing.T, base, more string, secrets map[string]string) (connectors.Connector, error) {
	t.Helper()
	return build(t, `
connector: acme
secrets: {cert: {file: cert, optional: true}, key: {file: key, optional: true}, ca: {file: ca, optional: true}, client: {file: client, optional: true}}
provider:
  base_url: `+base+`
  pace: off
  limits: {attempts: 1}
  tls: {certificate: "${secrets.cert}", key: "${secrets.key}", ca: "${secrets.ca}"}
`+more, declarative.Options{Secrets: with(secrets)})
}

// firstPage asks for the first page of the stream things, by the client of a run.
func firstPage(t *testing.T, c connectors.Connector) error {
	t.Helper()
	g, err := pacing.New(pacing.Config{Provider: c.Provider(), Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: time.Minute})})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, err := range c.Slices(t.Context(), g.Client(), things0, collection.Cursor{}) {
		return err
	}
	return errors.New("no page")
}

const listOfThings = "streams: {things: {get: /things, key: id, page: {none: true}}}\n"

// TestClientCertificate: a server that requires a certificate is shown one, and what
// it has against it ends the run, in words that a person can act on.
func TestClientCertificate(t *testing.T) {
	ours, other := certtest.New(t), certtest.New(t)
	soon := time.Now().Add(time.Hour)
	right, foreign := ours.Pair(t, soon), other.Pair(t, soon)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, tc := range []struct {
			name       string
			cert, key  string
			ca         string
			why, why12 string // "": there is a page
			reason     collection.Reason
		}{
			{name: "right", cert: right.Certificate, key: right.Key, ca: ours.PEM},
			{name: "signed by another authority", cert: foreign.Certificate, key: foreign.Key, ca: ours.PEM, why: "it does not trust the authority that signed the client certificate", reason: collection.Auth},
			{name: "none", ca: ours.PEM, why: "it asks for a client certificate, and was shown none", why12: "no connection: TLS was refused: it asks for a client certificate, or has no cipher in common with us", reason: collection.Auth},
			{name: "an authority that is not trusted here", cert: right.Certificate, key: right.Key, why: "no connection: the TLS certificate is signed by an authority that is not trusted here", reason: collection.UpstreamPressure},
		} {
			t.Run(tls.VersionName(version)+", "+tc.name, func(t *testing.T) {
				t.Parallel()
				server := greet(t, ours, tls.RequireAndVerifyClientCert, version, aPage)
				c, err := secured(t, server.URL, listOfThings, map[string]string{"cert": tc.cert, "key": tc.key, "ca": tc.ca})
				if err != nil {
					t.Fatal(err)
				}
				err = firstPage(t, c)
				if tc.why == "" {
					if err != nil || len(server.showed()) != 1 {
						t.Errorf("%v after %d requests, want a page", err, len(server.showed()))
					}
					return
				}
				why, reason := tc.why, tc.reason
				if version == tls.VersionTLS12 && tc.why12 != "" { // which has no word for it
					why, reason = tc.why12, collection.UpstreamPressure
				}
				stop, _ := errors.AsType[*collection.Stop](err)
				if stop == nil || stop.Reason != reason || stop.Detail != why {
					t.Fatalf("%+v, want %s: %s", err, reason, why)
				}
				if errors.Is(err, collection.ErrClientCertificate) != (reason == collection.Auth) {
					t.Errorf("%v: that it is about the client certificate is not told by its cause", err)
				}
			})
		}
	}
}

// TestCertificateStaysAtItsOrigins: another origin is not shown the certificate,
// whether a file names it or a redirect leads there; the token endpoint is.
func TestCertificateStaysAtItsOrigins(t *testing.T) {
	ours := certtest.New(t)
	right := ours.Pair(t, time.Now().Add(time.Hour))
	secrets := map[string]string{"cert": right.Certificate, "key": right.Key, "ca": ours.PEM, "client": "a-client-secret"}

	t.Run("a redirect", func(t *testing.T) {
		other := greet(t, ours, tls.RequestClientCert, 0, aPage)
		home := greet(t, ours, tls.RequireAndVerifyClientCert, 0, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/x", http.StatusFound)
		})
		// It is listed, so that it is asked; its server is not trusted there, since the
		// authority is for the API alone.
		c, err := secured(t, home.URL, "streams: {things: {get: /things, key: id, page: {none: true}}, more: {get: "+other.URL+"/more, key: id, page: {none: true}}}\n", secrets)
		if err != nil {
			t.Fatal(err)
		}
		err = firstPage(t, c)
		stop, _ := errors.AsType[*collection.Stop](err)
		if stop == nil || !strings.Contains(stop.Detail, "not trusted here") || len(other.showed()) != 0 || len(home.showed()) != 1 {
			t.Errorf("%v after %v and %v, want that the authority is trusted for the API alone", err, home.showed(), other.showed())
		}
	})
	t.Run("a redirect to plain http", func(t *testing.T) {
		asked := false
		plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = true; aPage(w, r) }))
		defer plain.Close()
		home := greet(t, ours, tls.RequireAndVerifyClientCert, 0, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain.URL+"/x", http.StatusFound)
		})
		c, err := secured(t, home.URL, "  origins: ["+plain.URL+"]\n"+listOfThings, secrets)
		if err != nil {
			t.Fatal(err)
		}
		if err := firstPage(t, c); err == nil || asked {
			t.Errorf("%v; it was followed: %t", err, asked)
		}
	})
	t.Run("the token endpoint", func(t *testing.T) {
		tokens := greet(t, ours, tls.RequireAndVerifyClientCert, 0, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"access_token":"t0ken-of-a-test","token_type":"bearer","expires_in":3600}`)
		})
		home := greet(t, ours, tls.RequireAndVerifyClientCert, 0, aPage)
		c, err := secured(t, home.URL, "  auth: {oauth2: {token_url: "+tokens.URL+"/token, client_id: me, client_secret: '${secrets.client}'}}\n"+listOfThings, secrets)
		if err != nil {
			t.Fatal(err)
		}
		if err := firstPage(t, c); err != nil || len(tokens.showed()) != 1 || len(home.showed()) != 1 {
			t.Errorf("%v after %v and %v", err, tokens.showed(), home.showed())
		}
	})
}

// TestCertificatesAreChecked: what is wrong with the secrets is said before anything
// is asked, with what to do, and without a line of them.
func TestCertificatesAreChecked(t *testing.T) {
	ours := certtest.New(t)
	right, another := ours.Pair(t, time.Now().Add(time.Hour)), ours.Pair(t, time.Now().Add(time.Hour))
	past := ours.Pair(t, time.Now().Add(-24*time.Hour))
	locked := strings.ReplaceAll(right.Key, "PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
	damaged := strings.Replace(right.Key, "\nM", "\nA", 1)
	for _, tc := range []struct{ name, cert, key, ca, want string }{
		{"the key of another one", right.Certificate, another.Key, "", "the secret `key` is not the key of the certificate in `cert`"},
		{"expired", past.Certificate, past.Key, "", "the secret `cert` is a certificate that expired on "},
		{"a passphrase", right.Certificate, locked, "", "the secret `key` is encrypted with a passphrase"},
		{"a damaged key", right.Certificate, damaged, "", "the secret `key` and `cert` make no pair"},
		{"no PEM", "cert.pem", right.Key, "", "the secret `cert` holds no certificate in PEM"},
		{"the wrong way round", right.Key, right.Certificate, "", "the secret `cert` holds no certificate in PEM"},
		{"a key that is a certificate", right.Certificate, right.Certificate, "", "the secret `key` holds no private key in PEM"},
		{"no key", right.Certificate, "", "", "no value for the secret `key`"},
		{"no certificate", "", right.Key, "", "no value for the secret `cert`"},
		{"an authority that is none", "", "", right.Key, "the secret `ca` holds no certificate in PEM"},
	} {
		_, err := secured(t, "https://acme.test", listOfThings, map[string]string{"cert": tc.cert, "key": tc.key, "ca": tc.ca})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSpace(right.Key+another.Key+past.Key+damaged), "\n") {
			if strings.Contains(err.Error(), line) && !strings.HasPrefix(line, "-----BEGIN PRIVATE KEY") {
				t.Errorf("%s: the error quotes a secret: %v", tc.name, err)
			}
		}
	}
}

// TestAccountOfACertificate: where there is no other credential, the account is named
// by the public key. What is searched for in what a provider sends holds nothing of it.
func TestAccountOfACertificate(t *testing.T) {
	ours := certtest.New(t)
	one, two := ours.Pair(t, time.Now().Add(time.Hour)), ours.Pair(t, time.Now().Add(time.Hour))
	of := func(p certtest.Pair, more string) collection.Provider {
		t.Helper()
		c, err := secured(t, "https://acme.test", more+listOfThings, map[string]string{"cert": p.Certificate, "key": p.Key, "client": "a-client-secret"})
		if err != nil {
			t.Fatal(err)
		}
		return c.Provider()
	}
	const bearer = "  auth: {bearer: '${secrets.client}'}\n"
	a, b, signed, neither := of(one, ""), of(two, ""), of(one, bearer), of(certtest.Pair{}, "")
	if a.Account() == "" || a.Account() == b.Account() || a.Account() != new(of(one, "")).Account() {
		t.Errorf("two certificates are the accounts %q and %q", a.Account(), b.Account())
	}
	if a.Credential != "" || len(a.Secrets) != 0 || a.Anonymous() || a.CredentialFrom != "file cert" {
		t.Errorf("the credential is %q, %q, from %q", a.Credential, a.Secrets, a.CredentialFrom)
	}
	if signed.Account() != "a-client-secret" || signed.CredentialFrom != "file client, file cert" {
		t.Errorf("with a token the account is %q, from %q", signed.Account(), signed.CredentialFrom)
	}
	if neither.Account() != "" || !neither.Anonymous() || neither.TLS != nil {
		t.Errorf("without a certificate the account is %q", neither.Account())
	}
}

package declarative_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/declarative"
)

// signed builds a connector with a way of auth and two secrets.
func signed(t *testing.T, auth, first, second string) (collection.Provider, error) {
	t.Helper()
	c, err := build(t, "connector: test\nparams: {app: {default: me}}\nsecrets: {one: {env: ONE}, two: {env: TWO}}\nprovider: {base_url: \"https://api.test\", auth: "+auth+"}\nstreams: {things: {get: /x, key: id, page: {none: true}}}\n",
		declarative.Options{Secrets: map[string]declarative.SecretValue{"one": {Value: first, From: "env ONE"}, "two": {Value: second, From: "env TWO"}}})
	if err != nil {
		return collection.Provider{}, err
	}
	return c.Provider(), nil
}

// TestSignedCredentials: what signs is not sent, is known as a secret, and names
// the account.
func TestSignedCredentials(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for name, test := range map[string]struct {
		auth, first, second string
		attached            func(*http.Request) string
		begins              string
		secret              string // one of the Secrets, or the Credential
	}{
		"jwt":      {`{jwt: {key: "${secrets.one}", algorithm: ES256, claims: {iss: "${params.app}"}}}`, private, "", func(r *http.Request) string { return r.Header.Get("Authorization") }, "Bearer eyJ", private},
		"binance":  {`{hmac: {recipe: binance, key: "${secrets.one}", secret: "${secrets.two}"}}`, "k-one", "s3cr3tTwo", func(r *http.Request) string { return r.URL.RawQuery }, "symbol=A&timestamp=", "s3cr3tTwo"},
		"coinbase": {`{hmac: {recipe: coinbase, key: "${secrets.one}", secret: "${secrets.two}"}}`, "k-one", "c2VjcmV0VHdv", func(r *http.Request) string { return r.Header.Get("CB-ACCESS-KEY") }, "k-one", "c2VjcmV0VHdv"},
		"aws":      {`{aws: {access_key: "${secrets.one}", secret_key: "${secrets.two}", region: eu-central-1, service: s3}}`, "AKID", "s3cr3tTwo", func(r *http.Request) string { return r.Header.Get("Authorization") }, "AWS4-HMAC-SHA256 Credential=AKID/", "s3cr3tTwo"},
		"keys":     {`{api_key: [{header: X-A, value: "${secrets.one}"}, {header: X-B, value: "${secrets.two}"}]}`, "first-key", "second-key", func(r *http.Request) string { return r.Header.Get("X-A") + " " + r.Header.Get("X-B") }, "first-key second-key", "second-key"},
	} {
		p, err := signed(t, test.auth, test.first, test.second)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		req, _ := http.NewRequest("GET", "https://api.test/x?symbol=A", nil)
		p.Authorize(req)
		if got := test.attached(req); !strings.HasPrefix(got, test.begins) {
			t.Errorf("%s: sends %q", name, got)
		}
		if known := append([]string{p.Credential}, p.Secrets...); !slices.Contains(known, test.secret) || p.Credential == "" {
			t.Errorf("%s: %q does not know the secret", name, known)
		}
		bare := &http.Request{Header: http.Header{}, URL: &url.URL{}}
		p.Authorize(bare) // as the client does to learn what is sent
		if name != "keys" && strings.Contains(req.URL.String()+headers(req), test.secret) {
			t.Errorf("%s: sends the secret itself", name)
		}
	}
	for name, auth := range map[string]string{
		"no PEM":    `{jwt: {key: "${secrets.one}"}}`,
		"no base64": `{hmac: {recipe: coinbase, key: k, secret: "${secrets.one}"}}`,
		"assertion": `{oauth2: {token_url: "https://auth.test", assertion: {key: "${secrets.one}"}}}`,
	} {
		_, err := signed(t, auth, "s3cr3t!", "")
		if bad, ok := errors.AsType[*declarative.BadSecretError](err); !ok || bad.Name != "one" || strings.Contains(err.Error(), "s3cr3t!") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := signed(t, `{bearer: "${secrets.one}"}`, private, ""); err == nil {
		t.Error("a token of several lines is sent")
	}
}

func headers(req *http.Request) string {
	var b strings.Builder
	_ = req.Header.Write(&b)
	return b.String()
}

package declarative_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors/declarative"
)

// TestRenewedCredential: the account is named by what lasts, wherever its
// tokens are, and a secret that is replaced needs a place to be kept.
func TestRenewedCredential(t *testing.T) {
	const src = `
connector: test
params: {tenant: {default: acme}, wide: {}}
secrets: {id: {env: ID}, key: {env: KEY}, refresh: {file: /run/refresh, rotate: true}}
provider:
  base_url: https://api.test
  auth:
    oauth2:
      token_url: https://auth.test/${params.tenant}/token
      client_id: "${secrets.id}"
      client_secret: "${secrets.key}"
      refresh_token: "${secrets.refresh}"
      client_auth: body
      scope: "read:${params.tenant}"
      fields: {audience: "https://${params.tenant}.test", wide: "${params.wide}"}
streams: {things: {get: /x, key: id, page: {none: true}}}
`
	kept := func(_ context.Context, spend func(string) (string, error)) error {
		_, err := spend("r-kept")
		return err
	}
	with := func(key, refresh, tenant string) collection.Provider {
		t.Helper()
		c, err := build(t, src, declarative.Options{Params: map[string]string{"tenant": tenant}, Secrets: map[string]declarative.SecretValue{
			"id": {Value: "app", From: "env ID"}, "key": {Value: key, From: "env KEY"}, "refresh": {Value: refresh, From: "file /run/refresh", Replace: kept}}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Provider()
	}
	p := with("key1", "r1", "acme")
	if got, want := p.CredentialFrom, "env ID, env KEY, file /run/refresh"; got != want {
		t.Errorf("the credential is from %q, want %q", got, want)
	}
	if slices.ContainsFunc(append(p.Origins, p.Others...), func(o string) bool { return strings.Contains(o, "auth") }) {
		t.Errorf("origins %v and %v: the token endpoint is sent no tokens, and has no pages", p.Origins, p.Others)
	}
	if same := with("key2", "r2", "acme"); same.Credential != p.Credential || strings.Contains(p.Credential, "r1") || strings.Contains(p.Credential, "key1") {
		t.Errorf("%q and %q: an account is not named by what changes", p.Credential, same.Credential)
	}
	if other := with("key1", "r1", "other"); other.Credential == p.Credential {
		t.Error("another token endpoint is another account")
	}

	var form url.Values
	err := p.Renewal.Renew(t.Context(), func(req *http.Request) (*http.Response, error) {
		if req.URL.String() != "https://auth.test/acme/token" {
			t.Errorf("tokens are asked for at %s", req.URL)
		}
		err := req.ParseForm()
		form = req.PostForm
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"access_token":"a1","refresh_token":"r2"}`))}, err
	})
	want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"r-kept"}, "client_id": {"app"}, "client_secret": {"key1"},
		"scope": {"read:acme"}, "audience": {"https://acme.test"}}
	if err != nil || !reflect.DeepEqual(form, want) {
		t.Errorf("asked with %v, %v; want %v", form, err, want)
	}
	req, _ := http.NewRequest("GET", "https://api.test/", nil)
	if p.Authorize(req); req.Header.Get("Authorization") != "Bearer a1" {
		t.Errorf("%v is attached, want a1", req.Header)
	}

	_, err = build(t, src, declarative.Options{Secrets: map[string]declarative.SecretValue{"id": {Value: "app"}, "key": {Value: "k"}, "refresh": {Value: "r"}}})
	if bad, ok := errors.AsType[*declarative.BadSecretError](err); !ok || bad.Name != "refresh" {
		t.Errorf("a secret that is replaced, and has no place to be kept: %v", err)
	}
}

// TestRenewedCredentialIsNoCursor: a token that was got on the way is not
// stored when the provider gives it back.
func TestRenewedCredentialIsNoCursor(t *testing.T) {
	c, err := build(t, `
connector: test
secrets: {key: {env: KEY}}
provider: {base_url: https://api.test, auth: {oauth2: {token_url: https://auth.test, client_id: app, client_secret: "${secrets.key}"}}}
streams: {things: {get: /x, key: id, records: items, page: {cursor: {from: next, param: after}}}}
`, declarative.Options{Secrets: map[string]declarative.SecretValue{"key": {Value: "k3y-of-the-client"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Provider().Renewal.Renew(t.Context(), func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"access_token":"acc3ss-c4nary"}`))}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, cursor := range []string{"after acc3ss-c4nary", "k3y-of-the-client"} {
		r := &recorder{body: `{"items":[{"id":1}],"next":"` + cursor + `"}`}
		for _, err := range c.Slices(t.Context(), &http.Client{Transport: r}, things0, collection.Cursor{}) {
			stop, ok := errors.AsType[*collection.Stop](err)
			if !ok || stop.Reason != collection.BadPage {
				t.Errorf("the cursor %q was taken: %v", cursor, err)
			}
			break
		}
	}
}

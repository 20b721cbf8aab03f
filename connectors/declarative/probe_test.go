package declarative_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative"
)

// TestProbe: what only the right account may see is asked for with its
// credential and the headers of the provider, and whatever is answered instead
// is a matter of the account.
func TestProbe(t *testing.T) {
	const src = `
connector: test
params: {org: {default: acme}}
secrets: {token: {env: TOK, optional: true}}
provider: {base_url: "https://api.test/v1", headers: {X-Version: 2}, auth: {bearer: "${secrets.token}", probe: {get: "/orgs/${params.org}/me", when: body.login != nil}}}
streams: {things: {get: /things, key: id, page: {none: true}}}
`
	probe := func(src, token string, answer http.HandlerFunc) (asked *http.Request, err error) {
		c, err := build(t, src, declarative.Options{Secrets: map[string]declarative.SecretValue{"token": {Value: token}}})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r
			answer(w, r)
		})}}
		return asked, c.(connectors.Prober).Probe(t.Context(), client)
	}
	for _, test := range []struct {
		status int
		body   string
		fails  bool
	}{
		{200, `{"login":"kim"}`, false},
		{201, `{"login":"kim"}`, false},
		{200, `{"login":null}`, true},
		{200, `[]`, true},
		{200, `<html>`, true},
		{200, ``, true},
		{204, ``, true},
		{404, `{"login":"kim"}`, true},
		{302, ``, true},
	} {
		_, err := probe(src, "t0k", answer(test.status, test.body))
		stop, _ := errors.AsType[*collection.Stop](err)
		if test.fails != errors.Is(err, connectors.ErrProbe) || test.fails && (stop == nil || stop.Reason != collection.Auth) {
			t.Errorf("%d %s: %v, want failure %t", test.status, test.body, err, test.fails)
		}
	}
	var asked *http.Request
	see := func(w http.ResponseWriter, r *http.Request) { asked = r; answer(200, "x")(w, r) }
	if _, err := probe(strings.Replace(src, ", when: body.login != nil", "", 1), "t0k", see); err != nil {
		t.Errorf("without `when`: %v, want that any page will do", err)
	}
	if asked == nil || asked.URL.String() != "https://api.test/v1/orgs/acme/me" || asked.Header.Get("X-Version") != "2" {
		t.Errorf("asked %v", asked)
	}
	asked = nil
	if _, err := probe(src, "", see); err != nil || asked != nil {
		t.Errorf("without a credential: %v, asked %v, want nothing", err, asked)
	}
	if _, err := probe(strings.Replace(src, ", probe: {get: \"/orgs/${params.org}/me\", when: body.login != nil}", "", 1), "t0k", see); err != nil || asked != nil {
		t.Errorf("without a probe: %v, asked %v, want nothing", err, asked)
	}
}

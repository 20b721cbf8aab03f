package registry

import (
	"errors"
	"fmt"
	"testing"

	"collect/connectors/declarative"
	"collect/report/problem"
)

// TestTokensAreBound: a token goes to the origins beside it and to those of a
// built-in connector of its provider, in every spelling of them.
func TestTokensAreBound(t *testing.T) {
	const file = "connector: x\nparams: {at: {default: other.test}}\nsecrets: {token: {env: T}, key: {env: K}}\nprovider: {name: %s, base_url: %q, origins: [%s], auth: {bearer: \"${secrets.%s}\"}}\nstreams: {a: {get: /x, key: id, page: {none: true}}}\n"
	s := Registry{Providers: map[string]Provider{
		"github": {TokenEnv: "G"}, "acme": {TokenFile: "f", Origins: []string{"https://api.acme.test"}}, "silent": {PerDay: 1},
	}}
	for _, tc := range []struct {
		provider, base, more, secret string
		refused                      string
	}{
		{"github", "https://api.github.com", "", "token", ""},
		{"github", "https://API.github.com.:443/v3", "", "token", ""},
		{"github", "http://api.github.com", "", "token", "http://api.github.com"},
		{"github", "https://api.github.com:8443", "", "token", "https://api.github.com:8443"},
		{"github", "https://api.github.com", `"https://evil.test"`, "token", "https://evil.test"},
		{"github", "https://${params.at}", "", "token", "https://other.test"},
		{"github", "https://evil.test", "", "key", ""}, // which collect.yaml does not hold
		{"acme", "https://api.acme.test/v1", "", "token", ""},
		{"acme", "https://api.github.com", "", "token", "https://api.github.com"},
		{"silent", "https://evil.test", "", "token", ""},
		{"unknown", "https://evil.test", "", "token", ""},
	} {
		spec, err := declarative.Parse("x.yaml", fmt.Appendf(nil, file, tc.provider, tc.base, tc.more, tc.secret))
		if err != nil {
			t.Fatal(err)
		}
		err = s.mayReceive(spec, nil)
		unbound, _ := errors.AsType[*problem.UnboundError](err)
		if tc.refused == "" && err != nil || tc.refused != "" && (unbound == nil || unbound.Origin != tc.refused) {
			t.Errorf("%s at %s, with %s: %v, want %q refused", tc.provider, tc.base, tc.more, err, tc.refused)
		}
	}
}

// TestReadable: a secret that goes over plain HTTP to a machine elsewhere is a
// warning.
func TestReadable(t *testing.T) {
	for origin, want := range map[string]bool{
		"http://api.acme.test": true, "http://8.8.8.8:80": true, "http://[2606:4700::1]": true, "https://api.acme.test": false,
		"http://localhost:8090": false, "http://127.0.0.1": false, "http://192.168.1.5": false, "http://[::1]:1": false, "http://x.localhost": false,
	} {
		if got := Readable(origin); got != want {
			t.Errorf("%s: %t, want %t", origin, got, want)
		}
	}
}

package registry_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collect/engine/registry"
)

// Tokens take turns where a list stands, in the connector file or in collect.yaml; one that is not
// there, or is there twice, takes none.
func TestTokensThatTakeTurns(t *testing.T) {
	for _, tc := range []struct {
		name     string
		source   string
		provider registry.Provider
		env      map[string]string
		want     []string // where the tokens came from
		left     []string
		err      string
	}{
		{name: "one", source: "env: A", env: map[string]string{"A": "aaaaaaaa"}, want: []string{"env A"}},
		{name: "all", source: "env: [A, B]", env: map[string]string{"A": "aaaaaaaa", "B": "bbbbbbbb"}, want: []string{"env A", "env B"}},
		{name: "the first is missing", source: "env: [A, B, C]", env: map[string]string{"B": "bbbbbbbb", "C": "cccccccc"}, want: []string{"env B", "env C"}, left: []string{"env A (not there)"}},
		{name: "twice", source: "env: [A, B]", env: map[string]string{"A": "aaaaaaaa", "B": "aaaaaaaa"}, want: []string{"env A"}, left: []string{"env B (the same as another one)"}},
		{name: "none", source: "env: [A, B]", err: "env A, env B"},
		{name: "collect.yaml", source: "env: A", provider: registry.Provider{TokenEnv: "B", MoreTokens: []string{"C"}, Origins: []string{"https://api.acme.test"}},
			env: map[string]string{"A": "aaaaaaaa", "B": "bbbbbbbb", "C": "cccccccc"}, want: []string{"env B", "env C"}},
		{name: "one over a list", source: "env: [A, B]", provider: registry.Provider{TokenEnv: "C", Origins: []string{"https://api.acme.test"}},
			env: map[string]string{"A": "aaaaaaaa", "B": "bbbbbbbb", "C": "cccccccc"}, want: []string{"env C"}},
	} {
		file := filepath.Join(t.TempDir(), "acme.yaml")
		text := "connector: acme\nsecrets: {token: {" + tc.source + "}}\nprovider: {base_url: 'https://api.acme.test', auth: {bearer: '${secrets.token}'}}\nstreams: {items: {get: /items, key: id, page: {none: true}}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &registry.Registry{Providers: map[string]registry.Provider{"acme": tc.provider}, Env: func(name string) string { return tc.env[name] }, Printed: map[string]string{}}
		target, err := r.Resolve(t.Context(), file, nil)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v, want %q in it", tc.name, err, tc.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var got []string
		for _, one := range target.Each() {
			got = append(got, one.Connector.Provider().CredentialFrom)
		}
		if !slices.Equal(got, tc.want) || !slices.Equal(target.LeftOut, tc.left) || len(target.Secrets) != len(tc.want) {
			t.Errorf("%s: %q take turns, and %q do not, with %d secrets; want %q and %q", tc.name, got, target.LeftOut, len(target.Secrets), tc.want, tc.left)
		}
	}
}

package registry_test

import (
	"os"
	"path/filepath"
	"testing"

	"collect/connectors/declarative"
	"collect/engine/registry"
)

// TestCredential: a variable that is not set is looked for among what systemd hands over;
// one that is set outranks it, and no name leads out of that folder.
func TestCredential(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "credentials")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(inside, "acme_token"), filepath.Join(dir, "outside")} {
		if err := os.WriteFile(path, []byte("handed\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"CREDENTIALS_DIRECTORY": inside}
	r := &registry.Registry{Env: func(name string) string { return env[name] }}
	for _, tc := range []struct{ variable, set, want string }{
		{"ACME_TOKEN", "", "handed"}, {"ACME_TOKEN", "mine", "mine"}, {"OTHER", "", ""}, {"../OUTSIDE", "", ""},
	} {
		env[tc.variable] = tc.set
		got, err := r.Lookup(t.Context(), declarative.Secret{Name: "token", Env: tc.variable})
		if err != nil || got != tc.want {
			t.Errorf("%s, set to %q: %q, %v, want %q", tc.variable, tc.set, got, err, tc.want)
		}
	}
}

package registry_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"collect/engine/registry"
)

// row is a value that machines share.
type row struct {
	kept []byte
	name string
}

func (r *row) Read(_ context.Context, name string) ([]byte, error) {
	r.name = name
	return r.kept, nil
}

func (r *row) Swap(_ context.Context, name string, spend func([]byte) ([]byte, error)) error {
	r.name = name
	next, err := spend(r.kept)
	if err == nil && next != nil {
		r.kept = next
	}
	return err
}

// TestSealedTokens: of machines that share a token, one without a file reads what the others
// left, an old file is not taken for a new one, and a sign-in is; another key reads nothing.
func TestSealedTokens(t *testing.T) {
	const (
		key   = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
		other = "MTEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	)
	dir, shared := t.TempDir(), &row{}
	path := filepath.Join(dir, "books.yaml")
	spec := `connector: books
secrets: {refresh: {file: ~/refresh, rotate: true}}
provider:
  base_url: https://api.books.test
  auth: {oauth2: {token_url: https://login.books.test/token, client_id: app, refresh_token: "${secrets.refresh}"}}
streams: {things: {get: /things, key: id, page: {none: true}}}
`
	if err := os.WriteFile(path, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	signIn := func(home, token string) {
		if err := os.MkdirAll(filepath.Join(dir, home), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, home, "refresh"), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// use spends the token of a machine, which is replaced by next; "" if it refuses.
	use := func(home, key, next string) (spent string, err error) {
		r := &registry.Registry{Shared: shared, Env: func(name string) string {
			return map[string]string{"HOME": filepath.Join(dir, home), registry.TokenKey: key}[name]
		}}
		replace, err := registry.Replacer(t.Context(), r, path, "refresh")
		if err != nil {
			return "", err
		}
		return spent, replace(t.Context(), func(token string) (string, error) {
			if spent = token; next == "" {
				return "", errors.New("refused")
			}
			return next, nil
		})
	}
	signIn("one", "token-a")
	for _, step := range []struct{ home, want, next string }{
		{"one", "token-a", "token-b"},
		{"two", "token-b", "token-c"}, // it has no file
		{"one", "token-c", ""},
		{"one", "token-c", "token-d"},
	} {
		if got, err := use(step.home, key, step.next); got != step.want || err != nil && step.next != "" {
			t.Errorf("%s spends %q, %v, want %q", step.home, got, err, step.want)
		}
	}
	signIn("two", "token-x")
	for _, want := range []struct{ home, token, next string }{{"two", "token-x", "token-y"}, {"one", "token-y", "token-z"}, {"two", "token-z", "token-a2"}} {
		if got, err := use(want.home, key, want.next); got != want.token || err != nil {
			t.Errorf("after a sign-in %s spends %q, %v, want %q", want.home, got, err, want.token)
		}
	}
	if bytes.Contains(shared.kept, []byte("token")) || strings.Contains(shared.name, "token-") {
		t.Errorf("the token is kept in the clear: %q", shared.kept)
	}
	for _, bad := range []string{"", other, "short", key[:20]} {
		if got, err := use("one", bad, "token-q"); err == nil || got != "" || !strings.Contains(err.Error(), registry.TokenKey) {
			t.Errorf("with the key %q: %q, %v, want an error that names %s", bad, got, err, registry.TokenKey)
		}
	}
	shared.kept[len(shared.kept)-1] ^= 1
	if _, err := use("one", key, "token-q"); err == nil {
		t.Error("a changed row is read")
	}
}

package registry

import (
	"errors"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"collect/connectors/declarative"
)

// TestKeyring: a secret is an entry of collect, one that is not there is
// missing, and a keyring that fails says so.
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("collect", "acme", "s3cr3t"); err != nil {
		t.Fatal(err)
	}
	if err := keyring.Set("bank", "other", "n0t-0urs"); err != nil {
		t.Fatal(err)
	}
	r := &Registry{}
	for name, want := range map[string]string{"acme": "s3cr3t", "other": "", "none": ""} {
		value, from, err := r.secret(t.Context(), declarative.Secret{Name: "token", Keyring: name})
		if value != want || err != nil || from != "keyring "+name {
			t.Errorf("%s: %q from %q, %v", name, value, from, err)
		}
	}
	keyring.MockInitWithError(errors.New("it is locked"))
	_, _, err := r.secret(t.Context(), declarative.Secret{Name: "token", Keyring: "acme"})
	if err == nil || !strings.Contains(err.Error(), "the keyring, for secret token: it is locked") {
		t.Errorf("a keyring that is locked: %v", err)
	}
}

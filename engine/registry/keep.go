package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zalando/go-keyring"

	"collect/connectors/declarative"
	"collect/internal/tokenfile"
	"collect/internal/userfile"
	"collect/report/problem"
)

// Lookup fetches a secret from where it is kept; "" if it is not there.
func (r *Registry) Lookup(ctx context.Context, secret declarative.Secret) (string, error) {
	value, _, err := r.secret(ctx, secret)
	return value, err
}

// MayKeep reports, before there is anything to keep, why a secret could not be kept.
func (r *Registry) MayKeep(secret declarative.Secret) error {
	switch {
	case secret.File != "":
		path := userfile.Expand(secret.File, r.Env)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			var probe *os.File
			if probe, err = os.CreateTemp(filepath.Dir(path), ".collect.*"); err == nil {
				err = errors.Join(probe.Close(), os.Remove(probe.Name()))
			}
		}
		if err != nil {
			return &tokenfile.Error{Path: path, Err: err}
		}
		return nil
	case secret.Keyring != "":
		return nil // only writing shows it
	}
	return &problem.ReadOnlyError{Secret: secret.Name, From: secret.From()}
}

// Keep writes a secret where it is kept: into its file, as its owner's alone, or into
// the keyring.
func (r *Registry) Keep(ctx context.Context, secret declarative.Secret, value string) error {
	if err := r.MayKeep(secret); err != nil {
		return err
	}
	if secret.File != "" {
		return tokenfile.Put(ctx, userfile.Expand(secret.File, r.Env), value)
	}
	return r.inKeyring(ctx, secret, func() error { return keyring.Set(keyringService, secret.Keyring, value) })
}

// Forget removes a secret from where Keep writes it. It reports whether it was there.
func (r *Registry) Forget(ctx context.Context, secret declarative.Secret) (there bool, err error) {
	switch {
	case secret.File != "":
		return tokenfile.Remove(ctx, userfile.Expand(secret.File, r.Env))
	case secret.Keyring == "":
		return false, &problem.ReadOnlyError{Secret: secret.Name, From: secret.From()}
	}
	err = r.inKeyring(ctx, secret, func() error { return keyring.Delete(keyringService, secret.Keyring) })
	if errors.Is(err, keyring.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// inKeyring does something in the keyring, which may wait for a person to unlock it.
func (r *Registry) inKeyring(ctx context.Context, secret declarative.Secret, do func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, secretTimeout, errSecretLate)
	defer cancel()
	if _, err := userfile.Await(ctx, func() (bool, error) { return true, do() }); err != nil {
		return fmt.Errorf("the keyring, for secret %s: %w", secret.Name, err)
	}
	return nil
}

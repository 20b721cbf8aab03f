package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"collect/connectors/declarative"
	"collect/internal/process"
	"collect/internal/tokenfile"
	"collect/internal/userfile"
	"collect/internal/words"
)

// secretTimeout bounds the wait for a secret: for the command that prints it, or
// for who writes it into a pipe.
const secretTimeout = 30 * time.Second

// An account is the secrets of one account of a connector.
type account struct {
	values  map[string]declarative.SecretValue
	missing []string // where a secret was looked for that is one of several, and is not there
}

// accounts fetches the secrets of a connector, for each account, from where its file, or
// collect.yaml, says they are. A secret that is not found is left out: the
// connector says so if it needs it. One that has a single place is that of all accounts.
func (r *Registry) accounts(ctx context.Context, spec *declarative.Spec) ([]account, error) {
	secrets := spec.Secrets()
	n := 1
	for i, secret := range secrets {
		secrets[i] = r.SecretSource(spec.ProviderName(), secret)
		n = max(n, len(secrets[i].Each()))
	}
	all := make([]account, n)
	for i := range all {
		all[i].values = map[string]declarative.SecretValue{}
	}
	for _, secret := range secrets {
		each := secret.Each()
		var found declarative.SecretValue
		for i := range all {
			if i < len(each) {
				value, from, err := r.secret(ctx, each[i])
				if err != nil {
					return nil, err
				}
				if found, err = r.replaced(ctx, spec.ProviderName(), each[i], declarative.SecretValue{Value: value, From: from}); err != nil {
					return nil, err
				}
			}
			switch {
			case found.Value != "":
				all[i].values[secret.Name] = found
			case len(each) > 1:
				all[i].missing = append(all[i].missing, each[i].From()+" (not there)")
			}
		}
	}
	return all, nil
}

// takingTurns returns the secrets of the accounts that take turns, and of the others
// where they are, and why they take none: a secret is not there, or all of them are
// those of an account before. At least one account is returned.
func takingTurns(all []account) (taking []map[string]declarative.SecretValue, leftOut []string) {
	for _, a := range all {
		twin := slices.ContainsFunc(taking, func(b map[string]declarative.SecretValue) bool {
			return maps.EqualFunc(a.values, b, func(v, w declarative.SecretValue) bool { return v.Value == w.Value })
		})
		switch {
		case len(all) > 1 && len(a.missing) > 0:
			leftOut = append(leftOut, a.missing...)
		case twin:
			var from []string
			for _, name := range slices.Sorted(maps.Keys(a.values)) {
				from = append(from, a.values[name].From)
			}
			leftOut = append(leftOut, strings.Join(slices.Compact(from), ", ")+" (the same as another one)")
		default:
			taking = append(taking, a.values)
		}
	}
	if taking == nil {
		return []map[string]declarative.SecretValue{all[0].values}, nil // which is told of all
	}
	return taking, leftOut
}

// secret fetches one secret, and says where it came from. A value that does
// not exist is "".
func (r *Registry) secret(ctx context.Context, from declarative.Secret) (value, source string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, secretTimeout, errSecretLate)
	defer cancel()
	switch {
	case from.Env != "":
		if value := r.Env(from.Env); value != "" {
			return value, "env " + from.Env, nil
		}
		return r.credential(ctx, from)
	case from.File != "":
		path := userfile.Expand(from.File, r.Env)
		raw, err := readFile(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", "", nil
		}
		if err != nil && ctx.Err() != nil {
			return "", "", fmt.Errorf("the file for secret %s, %s: %w", from.Name, words.Home(path, r.Env), err)
		}
		return strings.TrimSpace(string(raw)), "file " + words.Home(path, r.Env), err
	case from.Keyring != "":
		value, err := fromKeyring(ctx, from.Keyring)
		if err != nil {
			return "", "", fmt.Errorf("the keyring, for secret %s: %w", from.Name, err)
		}
		return value, from.From(), nil
	case from.Command != "":
		out, ran := r.Printed[from.Command]
		if !ran {
			if out, err = commandOutput(ctx, from.Command, r.Stderr); err != nil {
				return "", "", fmt.Errorf("the command for secret %s: %w", from.Name, err)
			}
			r.Printed[from.Command] = out
		}
		return strings.TrimSpace(out), "a command", nil
	}
	return "", "", nil
}

// credential fetches what systemd hands to a unit in place of an environment variable: a
// credential with the variable's name in lower case (systemd.exec(5), LoadCredential=).
func (r *Registry) credential(ctx context.Context, from declarative.Secret) (value, source string, err error) {
	dir, name := r.Env("CREDENTIALS_DIRECTORY"), strings.ToLower(from.Env)
	if dir == "" || name != filepath.Base(name) {
		return "", "", nil
	}
	raw, err := readFile(ctx, filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("the systemd credential for secret %s, %s: %w", from.Name, name, err)
	}
	return strings.TrimSpace(string(raw)), "systemd credential " + name, nil
}

// keyringService is what the entries of collect in a keyring are filed under, so
// that a connector file can name no entry of another program.
const keyringService = "collect"

// fromKeyring returns the entry of that name in the keyring of the user; "" if
// there is none. The keyring may wait for somebody to unlock it: that wait ends with ctx.
func fromKeyring(ctx context.Context, name string) (string, error) {
	value, err := userfile.Await(ctx, func() (string, error) { return keyring.Get(keyringService, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return "", nil
	}
	return value, err
}

// errSecretLate: what a secret is read from says nothing.
var errSecretLate = fmt.Errorf("it printed nothing within %s", words.Span(secretTimeout))

// readFile reads the file at path like [userfile.ReadAtMost]. It may be a pipe
// without a writer: then the wait ends with ctx.
func readFile(ctx context.Context, path string) ([]byte, error) {
	return userfile.Await(ctx, func() ([]byte, error) { return userfile.ReadAtMost(path, LongestSecret) })
}

// commandOutput returns what a command prints. With the end of ctx all of it
// ends: every process of a pipeline, and the wait for one that is still there.
func commandOutput(ctx context.Context, line string, stderr io.Writer) (string, error) {
	command := exec.CommandContext(ctx, "sh", "-c", line) // #nosec G204 -- the user's own, see docs/security.md
	process.EndWhole(command)
	command.WaitDelay = time.Second
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, stderr
	err := command.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // it ended well, and left somebody behind who holds its output
	case err != nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return out.String(), err
}

// LongestSecret bounds a secret: it goes into a header, which servers bound to 8
// or 16 KiB. A private key may be longer.
const LongestSecret = 64 << 10

// replaced returns found with what keeps it where its provider replaces it: in its file, or
// where the machines that use a store share it.
func (r *Registry) replaced(ctx context.Context, provider string, secret declarative.Secret, found declarative.SecretValue) (declarative.SecretValue, error) {
	if !secret.Rotate || secret.File == "" {
		return found, nil
	}
	v, err := r.vaultOf(provider, secret)
	if err != nil {
		return found, err
	}
	if v != nil {
		found.Replace = v.replacer(found.Value)
		found.Value, err = v.value(ctx, found.Value)
		return found, err
	}
	path := userfile.Expand(secret.File, r.Env)
	found.Replace = func(ctx context.Context, spend func(string) (string, error)) error {
		return tokenfile.Replace(ctx, path, spend)
	}
	return found, nil
}

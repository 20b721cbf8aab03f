package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"collect/cmd/internal/config"
	"collect/connectors"
	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/internal/tokenfile"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// A target is what the <name> of a command stands for.
type target struct {
	name      string // in the store
	source    string // the full path of the connector file; "" if it is built in
	params    map[string]string
	streams   []string // those that the configuration selects; nil: all
	connector connectors.Connector
	discloses string            // what it reads of this user, and where it sends that
	meaning   map[string]string // of its streams: declarative.Spec.Meaning
}

// nameOf returns the name in the store that arg stands for, which need not be
// a connector that can be built: its records are there all the same.
func (a *app) nameOf(arg string) (string, error) {
	if !config.IsFile(arg) {
		return arg, nil
	}
	spec, err := config.ReadSpec(arg)
	if err != nil {
		return "", err
	}
	return spec.Name(), nil
}

// resolve builds the connector that arg stands for: a connector file, an entry
// of collect.yaml, or a built-in one, in this order.
func (a *app) resolve(ctx context.Context, s config.Settings, arg string, params []string) (target, error) {
	given, err := parseParams(params)
	if err != nil {
		return target{}, err
	}
	t, spec, err := a.find(s, arg)
	if err != nil {
		return target{}, err
	}
	t.params, t.meaning = mergeParams(t.params, given), spec.Meaning()
	t.discloses = config.Discloses(spec, s, t.params)
	if err := s.MayReceive(spec, t.params); err != nil {
		return target{}, err
	}
	secrets, err := a.secrets(ctx, spec, s)
	if err != nil {
		return target{}, err
	}
	t.connector, err = spec.Build(declarative.Options{Params: t.params, Secrets: secrets, Provider: s.Overrides(spec.ProviderName())})
	return t, err
}

// find reads the file of the connector that arg stands for. It looks up no
// secret.
func (a *app) find(s config.Settings, arg string) (t target, spec *declarative.Spec, err error) {
	entry, configured := s.Connectors[arg]
	switch {
	case config.IsFile(arg):
		if spec, err = config.ReadSpec(arg); err == nil {
			t.name = spec.Name()
			t.source, err = filepath.Abs(arg)
		}
	case configured:
		t.name, t.streams, t.params = arg, entry.Streams, entry.Params
		spec, err = s.SpecOf(entry)
	case slices.Contains(catalog.List(), arg):
		t.name = arg
		spec, err = config.BuiltIn(arg)
	default:
		if t.source, err = a.sourceOf(s, arg); err == nil {
			t.name = arg
			spec, err = config.ReadSpec(t.source)
		}
		if err == nil {
			err = s.MayUse(t.source, spec)
		}
	}
	return t, spec, err
}

// sourceOf returns the connector file that a connector was last collected
// with, so that the names which messages print can be typed.
func (a *app) sourceOf(s config.Settings, name string) (string, error) {
	ctx := context.Background()
	known := append(s.ConnectorNames(), catalog.List()...)
	db, err := a.openForReading(ctx, s)
	if errors.Is(err, store.ErrDamaged) {
		return "", err // it knows the name, perhaps
	}
	if err == nil && db != nil {
		defer db.Close()
		if runs, err := db.Runs(ctx, name, 1); err == nil && len(runs) == 1 && runs[0].Source != "" {
			return runs[0].Source, nil
		}
		if collected, err := db.Connectors(ctx); err == nil {
			known = append(known, collected...)
		}
	}
	unknown := &problem.UnknownConnectorError{Name: name, Known: known}
	if info, err := os.Stat(name + ".yaml"); err == nil && info.Mode().IsRegular() {
		unknown.File = info.Name()
	}
	return "", unknown
}

// parseParams reads --param flags.
func parseParams(flags []string) (map[string]string, error) {
	params := map[string]string{}
	for _, flag := range flags {
		name, value, ok := strings.Cut(flag, "=")
		if !ok || name == "" {
			return nil, problem.Usage("--param: %q is not name=value", flag)
		}
		params[name] = value
	}
	return params, nil
}

func mergeParams(base, over map[string]string) map[string]string {
	merged := map[string]string{}
	maps.Copy(merged, base)
	maps.Copy(merged, over)
	return merged
}

// secretTimeout bounds the wait for a secret: for the command that prints it, or
// for who writes it into a pipe.
const secretTimeout = 30 * time.Second

// secrets fetches the secrets of a connector from where its file, or
// collect.yaml, says they are. A secret that is not found is left out: the
// connector says so if it needs it.
func (a *app) secrets(ctx context.Context, spec *declarative.Spec, s config.Settings) (map[string]declarative.SecretValue, error) {
	values := map[string]declarative.SecretValue{}
	for _, secret := range spec.Secrets() {
		source := s.SecretSource(spec.ProviderName(), secret)
		value, from, err := a.secret(ctx, source)
		if err != nil {
			return nil, err
		}
		if value != "" {
			values[secret.Name] = declarative.SecretValue{Value: value, From: from, Replace: a.replacer(source)}
		}
	}
	return values, nil
}

// secret fetches one secret, and says where it came from. A value that does
// not exist is "".
func (a *app) secret(ctx context.Context, from declarative.Secret) (value, source string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, secretTimeout, errSecretLate)
	defer cancel()
	switch {
	case from.Env != "":
		return a.env(from.Env), "env " + from.Env, nil
	case from.File != "":
		path := config.Expand(from.File, a.env)
		raw, err := readFile(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", "", nil
		}
		if err != nil && ctx.Err() != nil {
			return "", "", fmt.Errorf("the file for secret %s, %s: %w", from.Name, words.Home(path, a.env), err)
		}
		return strings.TrimSpace(string(raw)), "file " + words.Home(path, a.env), err
	case from.Command != "":
		out, ran := a.printed[from.Command]
		if !ran {
			if out, err = commandOutput(ctx, from.Command, a.err); err != nil {
				return "", "", fmt.Errorf("the command for secret %s: %w", from.Name, err)
			}
			if a.printed == nil {
				a.printed = map[string]string{}
			}
			a.printed[from.Command] = out
		}
		return strings.TrimSpace(out), "a command", nil
	}
	return "", "", nil
}

// errSecretLate: what a secret is read from says nothing.
var errSecretLate = fmt.Errorf("it printed nothing within %s", words.Span(secretTimeout))

// readFile reads the file at path like [readAtMost]. It may be a pipe that
// nobody writes to, which only the end of ctx ends the wait for; its reader is
// left behind, in a process that is about to end.
func readFile(ctx context.Context, path string) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		data, err := config.ReadAtMost(path, secretLimit)
		read <- result{data, err}
	}()
	select {
	case r := <-read:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// commandOutput returns what a command prints. With the end of ctx all of it
// ends: every process of a pipeline, and the wait for one that is still there.
func commandOutput(ctx context.Context, line string, stderr io.Writer) (string, error) {
	command := exec.CommandContext(ctx, "sh", "-c", line) // #nosec G204 -- the user's own, see docs/security.md
	endWhole(command)
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

// secretLimit bounds a secret: it goes into a header, which servers bound to 8
// or 16 KiB. A private key may be longer.
const secretLimit = 64 << 10

// replacer returns what keeps a secret that its provider replaces; nil for one
// that stays.
func (a *app) replacer(secret declarative.Secret) func(context.Context, func(string) (string, error)) error {
	if !secret.Rotate || secret.File == "" {
		return nil
	}
	path := config.Expand(secret.File, a.env)
	return func(ctx context.Context, spend func(string) (string, error)) error {
		return tokenfile.Replace(ctx, path, spend)
	}
}

// settings reads the configuration under the global flags.
func (a *app) settings() (config.Settings, error) {
	s, err := config.Load(config.Source{Env: a.env, Config: a.flags.config, State: a.flags.state})
	if value, ok := errors.AsType[*config.ValueError](err); ok {
		err = problem.Usage("%s", value.Message)
	}
	if err == nil && s.State == "" {
		err = problem.ErrNoHome
	}
	return s, err
}

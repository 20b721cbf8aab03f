// Package registry finds the connector that a name or a path stands for, and
// builds it with its parameters and its secrets.
package registry

import (
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/report/problem"
)

// A Registry knows connectors: files that people write, the entries of
// collect.yaml, and those that come with collect.
type Registry struct {
	Entries   map[string]Entry    // connectors, under the names that the user gave them
	Providers map[string]Provider // what collect.yaml says of each, over its connector files

	Env     func(string) string
	Stderr  io.Writer         // of the commands that print secrets
	Printed map[string]string // by those commands: each runs once

	// Shared has the secrets that their providers replace, where several machines use them;
	// nil: they are in their files.
	Shared Shared

	// Remembered returns the connector file that a connector was collected with, and
	// the names that are known besides; "" for no file.
	Remembered func(ctx context.Context, name string) (path string, known []string, err error)
}

// An Entry is one connector of collect.yaml.
type Entry struct {
	Use     string // path of a connector file, or the name of a built-in one
	Params  map[string]string
	Streams []string // nil: all
	Origin  string   // file:line
}

// A Provider is what collect.yaml says of a provider over its connector file.
// Zero fields say nothing.
type Provider struct {
	TokenEnv       string
	TokenFile      string
	TokenCommand   string
	TokenKeyring   string   // the name of an entry of collect in the keyring
	MoreTokens     []string // further ones, each at a place of the kind of the first; they take turns
	Origins        []string // that may be sent the token, beside those of a built-in connector
	PerSecond      float64  // ceiling
	StartPerSecond float64
	PerDay         int64 // ceiling
	Forbidden      string
	Pace           declarative.Pace
	Origin         map[string]string // where each ceiling came from, by its key
}

// The keys of the ceilings of a provider in collect.yaml.
const (
	KeyPerSecond = "ceiling_per_second"
	KeyPerDay    = "requests_per_day"
)

// A Ceiling is one of a provider in collect.yaml, with where it came from.
type Ceiling struct {
	collection.Ceiling
	Origin string
}

// Ceilings returns those of p.
func (p Provider) Ceilings() (all []Ceiling) {
	if p.PerDay > 0 {
		all = append(all, Ceiling{collection.Ceiling{Count: int(p.PerDay), Per: 24 * time.Hour}, p.Origin[KeyPerDay]})
	}
	if p.PerSecond > 0 {
		all = append(all, Ceiling{collection.PerSecond(p.PerSecond), p.Origin[KeyPerSecond]})
	}
	return all
}

// A Target is what a name or a path stands for, ready to be collected.
type Target struct {
	Name      string // in the store
	Source    string // the full path of the connector file; "" if it is built in
	Params    map[string]string
	Streams   []string // those that the configuration selects; nil: all
	Connector connectors.Connector
	Spec      *declarative.Spec // that the connector was built of
	Discloses string            // what it reads of this user, and where it sends that
	Meaning   map[string]string // of its streams: declarative.Spec.Meaning
	LeftOut   []string          // places of tokens that take no turn, since none is there: "env ACME_TOKEN_2"
	Secrets   []string          // the values of its secrets, for who has to keep them out of what is written
}

// Hidden returns what must not be in anything that is written of t, as of now: its
// secrets, and what was granted for them.
func (t Target) Hidden() []string {
	return append(slices.Clone(t.Secrets), t.Connector.Provider().Hidden()...)
}

// Each returns t once for each account whose tokens take turns, and for no other one.
func (t Target) Each() []Target {
	several, ok := t.Connector.(interface {
		Accounts() []connectors.Connector
	})
	if !ok {
		return []Target{t}
	}
	var all []Target
	for _, c := range several.Accounts() {
		one := t
		one.Connector = c
		all = append(all, one)
	}
	return all
}

// Names returns the names that can be collected, as far as files tell.
func (r *Registry) Names() []string {
	return append(slices.Sorted(maps.Keys(r.Entries)), catalog.List()...)
}

// Configured returns the names that collect.yaml has, which must be some.
func (r *Registry) Configured() ([]string, error) {
	if len(r.Entries) == 0 {
		return nil, problem.Usage("--all: no collect.yaml names a connector under `connectors:`")
	}
	return slices.Sorted(maps.Keys(r.Entries)), nil
}

// NameOf returns the name in the store that arg stands for, which need not be
// a connector that can be built: its records are there all the same.
func NameOf(arg string) (string, error) {
	if !IsFile(arg) {
		return arg, nil
	}
	spec, err := readSpec(arg)
	if err != nil {
		return "", err
	}
	return spec.Name(), nil
}

// Resolve builds the connector that arg stands for. Params outrank those of the
// entry of collect.yaml.
func (r *Registry) Resolve(ctx context.Context, arg string, params map[string]string) (Target, error) {
	t, spec, err := r.Find(ctx, arg)
	if err != nil {
		return Target{}, err
	}
	merged := map[string]string{}
	maps.Copy(merged, t.Params)
	maps.Copy(merged, params)
	t.Params, t.Spec, t.Meaning = merged, spec, spec.Meaning()
	t.Discloses = r.discloses(spec, t.Params)
	if err := r.mayReceive(spec, t.Params); err != nil {
		return Target{}, err
	}
	accounts, err := r.accounts(ctx, spec)
	if err != nil {
		return Target{}, err
	}
	sets, leftOut := takingTurns(accounts)
	t.LeftOut = leftOut
	for _, set := range sets {
		for _, secret := range set {
			t.Secrets = append(t.Secrets, secret.Value)
		}
	}
	t.Connector, err = spec.Build(declarative.Options{Params: t.Params, Secrets: sets[0], More: sets[1:], Provider: r.Overrides(spec.ProviderName())})
	if missing, ok := errors.AsType[*declarative.MissingSecretError](err); ok && missing.Name == spec.SignsIn() {
		missing.SignIn = arg
	}
	return t, err
}

// SignIn returns how a person signs in for the connector that arg stands for, and
// the connector. ok is false if its file does not say how. Params outrank those of the
// entry.
func (r *Registry) SignIn(ctx context.Context, arg string, params map[string]string) (t Target, in declarative.SignIn, ok bool, err error) {
	t, spec, err := r.Find(ctx, arg)
	if err != nil || spec.SignsIn() == "" {
		return t, in, false, err
	}
	t.Params = merge(t.Params, params)
	if err := r.mayReceive(spec, t.Params); err != nil {
		return t, in, true, err
	}
	accounts, err := r.accounts(ctx, spec)
	if err != nil {
		return t, in, true, err
	}
	if in, ok, err = spec.SignIn(declarative.Options{Params: t.Params, Secrets: accounts[0].values}); err == nil {
		in.Secret = r.SecretSource(spec.ProviderName(), in.Secret)
	}
	return t, in, ok, err
}

// merge returns the parameters of an entry as overridden by those that were given.
func merge(params, given map[string]string) map[string]string {
	merged := map[string]string{}
	maps.Copy(merged, params)
	maps.Copy(merged, given)
	return merged
}

// Find reads the file of the connector that arg stands for. It looks up no
// secret.
func (r *Registry) Find(ctx context.Context, arg string) (t Target, spec *declarative.Spec, err error) {
	from, err := r.origin(ctx, arg)
	if err != nil {
		return Target{Name: arg}, nil, err
	}
	t = Target{Name: arg, Streams: from.entry.Streams, Params: from.entry.Params}
	path, src, err := from.read()
	if err == nil {
		spec, err = declarative.Parse(path, src)
	}
	if err != nil {
		return t, nil, err
	}
	if from.file != "" {
		t.Source, err = filepath.Abs(from.file)
	}
	switch {
	case err != nil:
	case IsFile(arg):
		t.Name = spec.Name()
	case from.remembered:
		err = r.mayUse(from.file, spec)
	}
	return t, spec, err
}

// Overrides returns what collect.yaml says of a provider.
func (r *Registry) Overrides(provider string) declarative.Overrides {
	p := r.Providers[provider]
	o := declarative.Overrides{StartPerSecond: p.StartPerSecond, On403: collection.ForbiddenPolicy(p.Forbidden), Pace: p.Pace}
	for _, c := range p.Ceilings() {
		o.Ceilings = append(o.Ceilings, c.Ceiling)
	}
	return o
}

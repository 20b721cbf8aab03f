// Package signin puts the secrets of a connector where they are kept, and takes them
// from there: a person signs in at the provider, types a token, or signs out. It
// decides what a front only asks and shows.
package signin

import (
	"context"
	"slices"
	"strings"

	"collect/connectors/declarative"
	"collect/connectors/oauth2"
	"collect/engine/registry"
	"collect/pacing"
	"collect/report/problem"
)

// A Way is how a person signs in.
type Way string

// The ways; the zero Way is the first that the connector file describes.
const (
	Browser Way = "browser"
	Device  Way = "device"
)

// A Person is shown what they need to sign in.
type Person struct {
	Open func(address string)    // in a browser on this machine
	Type func(oauth2.DeviceCode) // on any device
}

// A Kept secret is one that was kept, or removed, and where.
type Kept struct {
	Connector string
	Secret    string
	From      string // "file ~/.config/collect/acme.refresh"
	There     bool   // before it was removed
	Revoked   bool   // the provider has taken it back
}

// In gets the refresh token of the connector that arg stands for, and keeps it.
func In(ctx context.Context, r *registry.Registry, arg string, params map[string]string, way Way, who Person) (Kept, error) {
	t, in, err := find(ctx, r, arg, params)
	if err != nil {
		return Kept{}, err
	}
	if way == "" {
		if way = Browser; in.AuthorizeURL == "" {
			way = Device
		}
	}
	switch {
	case way == Browser && in.AuthorizeURL == "":
		return Kept{}, problem.Usage("the connector file says how to sign in on a device only: it has no `authorize_url`")
	case way == Device && in.DeviceURL == "":
		return Kept{}, problem.Usage("the connector file says how to sign in with a browser only: it has no `device_url`")
	}
	// Before a person does anything.
	if in.Secret, err = free(ctx, r, in.Secret); err != nil {
		return Kept{}, err
	}
	if err := r.MayKeep(in.Secret); err != nil {
		return Kept{}, err
	}
	if was, err := r.Lookup(ctx, in.Secret); err != nil {
		return Kept{}, err
	} else if strings.ContainsAny(was, " \t\r\n") {
		return Kept{}, problem.Usage("what is in %s is no token; it is not replaced", in.Secret.From())
	}
	client := pacing.NewSignInClient(in.TLS)
	defer client.CloseIdleConnections()
	var token string
	if way == Browser {
		token, err = in.Browser(ctx, client, who.Open)
	} else {
		token, err = in.Device(ctx, client, who.Type)
	}
	if err != nil {
		return Kept{}, err
	}
	if err := r.Keep(ctx, in.Secret, token); err != nil {
		return Kept{}, err
	}
	return Kept{Connector: t.Name, Secret: in.Secret.Name, From: in.Secret.From(), There: true}, nil
}

// Out takes the refresh token of a connector back at the provider, if its file says
// where, and then removes it. If the provider does not take it back, it stays.
func Out(ctx context.Context, r *registry.Registry, arg string, params map[string]string) (Kept, error) {
	t, in, ok, err := r.SignIn(ctx, arg, params)
	if err == nil && !ok {
		err = problem.Usage("nobody signs in to this connector: its file has no `authorize_url` and no `device_url` in `oauth2`, so that there is nothing to take back; nothing was changed. To end the access, revoke the token at the provider, and remove it from where `collect auth list %s` says that it is", arg)
	}
	if err != nil {
		return Kept{}, err
	}
	// Of several places, one at a time.
	token := ""
	for _, place := range in.Secret.Each() {
		in.Secret = place
		if token, err = r.Lookup(ctx, place); err != nil {
			return Kept{}, err
		}
		if token != "" {
			break
		}
	}
	kept := Kept{Connector: t.Name, Secret: in.Secret.Name, From: in.Secret.From()}
	if in.RevokeURL != "" && token != "" {
		client := pacing.NewSignInClient(in.TLS)
		defer client.CloseIdleConnections()
		if err := in.Revoke(ctx, client, token); err != nil {
			return Kept{}, err
		}
		kept.Revoked = true
	}
	kept.There, err = r.Forget(ctx, in.Secret)
	return kept, err
}

// free returns the place of a secret that a value is kept at: of several whose tokens take
// turns, the first that is empty.
func free(ctx context.Context, r *registry.Registry, secret declarative.Secret) (declarative.Secret, error) {
	each := secret.Each()
	if len(each) == 1 {
		return secret, nil
	}
	for _, place := range each {
		if value, err := r.Lookup(ctx, place); err != nil || value == "" {
			return place, err
		}
	}
	return secret, problem.Usage("each place of the secret `%s` has a token (%s); nothing was changed. Remove the one that you want to replace", secret.Name, secret.From())
}

func find(ctx context.Context, r *registry.Registry, arg string, params map[string]string) (registry.Target, declarative.SignIn, error) {
	t, in, ok, err := r.SignIn(ctx, arg, params)
	if err == nil && !ok {
		err = problem.Usage("the connector file does not say how to sign in: it has no `authorize_url` and no `device_url` in `oauth2`. Put the token there: collect auth set %s", arg)
	}
	return t, in, err
}

// Writable returns the secret of a connector that a person means by name, or the only
// one that can be written if the name is "".
func Writable(ctx context.Context, r *registry.Registry, arg, name string) (declarative.Secret, error) {
	_, spec, err := r.Find(ctx, arg)
	if err != nil {
		return declarative.Secret{}, err
	}
	var names, writable []string
	found := declarative.Secret{}
	for _, secret := range spec.Secrets() {
		source := r.SecretSource(spec.ProviderName(), secret)
		names = append(names, source.Name)
		switch {
		case name == source.Name:
			if err := writes(source); err != nil {
				return source, err
			}
			return free(ctx, r, source)
		case source.File != "" || source.Keyring != "":
			found = source
			writable = append(writable, source.Name)
		}
	}
	switch {
	case len(names) == 0:
		return found, problem.Usage("the connector needs no secret")
	case name != "":
		return found, problem.Usage("there is no secret `%s` in the connector file; there are %s", name, strings.Join(names, ", "))
	case len(writable) == 0:
		return found, writes(r.SecretSource(spec.ProviderName(), spec.Secrets()[0]))
	case len(writable) > 1:
		return found, problem.Usage("which secret? There are %s", strings.Join(writable, ", "))
	}
	return free(ctx, r, found)
}

func writes(secret declarative.Secret) error {
	if secret.File == "" && secret.Keyring == "" {
		return &problem.ReadOnlyError{Secret: secret.Name, From: secret.From()}
	}
	return nil
}

// Set keeps a value that a person typed as a secret.
func Set(ctx context.Context, r *registry.Registry, secret declarative.Secret, value string) error {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return problem.Usage("nothing was typed; nothing was changed")
	case len(value) > registry.LongestSecret:
		return problem.Usage("that is longer than a secret can be; nothing was changed")
	}
	return r.Keep(ctx, secret, value)
}

// A Need is a secret that a connector needs, and how it stands.
type Need struct {
	Connector   string `json:"connector"`
	Named       string `json:"-"` // what the connector was called by
	Secret      string `json:"secret"`
	From        string `json:"from"`
	There       bool   `json:"there"`
	Optional    bool   `json:"optional"`
	SignsIn     bool   `json:"signs_in"`              // collect auth login gets it
	Settable    bool   `json:"settable"`              // collect auth set writes it
	Fingerprint string `json:"fingerprint,omitempty"` // tells one value from another; not known without a database
	Problem     string `json:"problem,omitempty"`     // why it cannot be looked up

	one bool // of several places whose tokens take turns
}

// Needs returns the secrets of connectors. It never returns a value. Who cannot be
// looked up says why, and does not keep the others from being told.
func Needs(ctx context.Context, r *registry.Registry, names []string, salt []byte) ([]Need, error) {
	needs := []Need{}
	for _, name := range names {
		t, spec, err := r.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, secret := range spec.Secrets() {
			each := r.SecretSource(spec.ProviderName(), secret).Each()
			for _, source := range each {
				n := Need{Connector: t.Name, Named: name, Secret: source.Name, From: source.From(), Optional: source.Optional,
					SignsIn: spec.SignsIn() == source.Name, Settable: writes(source) == nil}
				value, err := r.Lookup(ctx, source)
				if err != nil {
					n.Problem = problem.PlainText(err)
				}
				n.There = value != ""
				if n.There && len(salt) > 0 {
					n.Fingerprint = problem.Fingerprint(salt, value)
				}
				n.one = len(each) > 1
				if !slices.Contains(needs, n) {
					needs = append(needs, n)
				}
			}
		}
	}
	return needs, nil
}

// Lacking reports whether a connector cannot run for want of one of these secrets. Of several
// places whose tokens take turns, one is enough.
func Lacking(needs []Need) bool {
	return slices.ContainsFunc(needs, func(n Need) bool {
		there := n.There || n.one && slices.ContainsFunc(needs, func(o Need) bool { return o.Connector == n.Connector && o.Secret == n.Secret && o.There })
		return !there && !n.Optional
	})
}

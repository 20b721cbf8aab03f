package registry

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/internal/userfile"
	"collect/report/problem"
)

// mayUse checks a connector file that only the database names. It may have been
// written by this user or root only, and none of its commands is run.
func (r *Registry) mayUse(path string, spec *declarative.Spec) error {
	if why := userfile.Distrust(path); why != "" {
		return &problem.UntrustedError{Path: path, Why: why, Name: "give its path in place of the name"}
	}
	for _, secret := range spec.Secrets() {
		if source := r.SecretSource(spec.ProviderName(), secret); secret.Command != "" && source.Command == secret.Command {
			return &problem.RememberedError{Path: path, Secret: secret.Name}
		}
	}
	return nil
}

// Unencrypted is said of an origin on the way to which anybody can read along.
const Unencrypted = " unencrypted, so that anyone on the way can read it (use https)"

// Readable reports whether an origin is asked over plain HTTP, and is not the
// address of a machine near this one, or localhost.
func Readable(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" {
		return false
	}
	host := u.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		return !addr.IsLoopback() && !addr.IsPrivate() && !addr.IsLinkLocalUnicast()
	}
	return host != "localhost" && !strings.HasSuffix(host, ".localhost")
}

// discloses says which secrets of this user a connector reads, and where it
// sends them: "secret token (env ACME_TOKEN) goes to https://api.acme.test".
func (r *Registry) discloses(spec *declarative.Spec, params map[string]string) string {
	said := ""
	for _, secret := range spec.Secrets() {
		to, err := spec.Recipients(secret.Name, params)
		if err != nil || len(to) == 0 {
			continue
		}
		for i, origin := range to {
			if Readable(origin) {
				to[i] += Unencrypted
			}
		}
		if said != "" {
			said += ", "
		}
		verb := "goes to"
		if spec.Signs(secret.Name) {
			verb = "signs for"
		}
		said += fmt.Sprintf("secret %s (%s) %s %s", secret.Name, r.SecretSource(spec.ProviderName(), secret).From(), verb, strings.Join(to, " and "))
	}
	return said
}

// TokenSecret is the secret that collect.yaml can say another place for.
const TokenSecret = "token"

// Movable reports whether collect.yaml can say another place for a secret: its provider
// does not replace it.
func Movable(secret declarative.Secret) bool { return secret.Name == TokenSecret && !secret.Rotate }

// SecretSource returns where to look for a secret of a connector: where
// collect.yaml says the provider's token is, else where the connector's file
// says.
func (r *Registry) SecretSource(provider string, secret declarative.Secret) declarative.Secret {
	p, ok := r.Providers[provider]
	if !ok || secret.Name != TokenSecret || !p.HasToken() {
		return secret
	}
	secret.Env, secret.File, secret.Command, secret.Keyring, secret.Others = p.TokenEnv, p.TokenFile, p.TokenCommand, p.TokenKeyring, nil
	one := secret
	for _, place := range p.MoreTokens {
		next := one
		switch {
		case p.TokenEnv != "":
			next.Env = place
		case p.TokenFile != "":
			next.File = place
		case p.TokenKeyring != "":
			next.Keyring = place
		default:
			next.Command = place
		}
		secret.Others = append(secret.Others, next)
	}
	return secret
}

// mayReceive checks where the token that collect.yaml holds for a provider goes.
// A file that calls its provider by that name could have it sent anywhere, so
// it is bound to the origins that are written beside it and to those of the
// built-in connector of the provider.
func (r *Registry) mayReceive(spec *declarative.Spec, params map[string]string) error {
	name := spec.ProviderName()
	if !r.Providers[name].HasToken() {
		return nil // its secrets are where its own file says
	}
	origins, err := spec.Recipients(TokenSecret, params)
	if err != nil {
		return nil // it cannot be built, which Build tells
	}
	allowed := append(builtInOrigins(name), r.Providers[name].Origins...)
	for _, origin := range origins {
		if !slices.Contains(allowed, origin) {
			return &problem.UnboundError{Provider: name, Origin: origin, Origins: origins, Written: r.Providers[name].tokenOrigin()}
		}
	}
	return nil
}

// builtInOrigins returns where the built-in connectors of a provider send its
// credential. It leaves out an origin that depends on a parameter without a default.
func builtInOrigins(provider string) []string {
	var origins []string
	for _, name := range catalog.List() {
		if spec, err := BuiltIn(name); err == nil && spec.ProviderName() == provider {
			if to, err := spec.Recipients(TokenSecret, nil); err == nil {
				origins = append(origins, to...)
			}
		}
	}
	return origins
}

// HasToken reports whether collect.yaml says where the token of the provider is.
func (p Provider) HasToken() bool {
	return p.TokenEnv != "" || p.TokenFile != "" || p.TokenCommand != "" || p.TokenKeyring != ""
}

// tokenOrigin returns where the token is written: "collect.yaml:5".
func (p Provider) tokenOrigin() string {
	return cmp.Or(p.Origin["token_env"], p.Origin["token_file"], p.Origin["token_command"], p.Origin["token_keyring"])
}

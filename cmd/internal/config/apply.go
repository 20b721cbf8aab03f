package config

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"collect/collection"
	"collect/connectors/catalog"
	"collect/connectors/declarative"
	"collect/report/problem"
)

// SpecOf reads the connector file that an entry uses.
func (s Settings) SpecOf(entry Connector) (*declarative.Spec, error) {
	if IsFile(entry.Use) {
		spec, err := ReadSpec(entry.Use)
		if missing, ok := errors.AsType[*problem.NoFileError](err); ok {
			missing.Named = entry.Origin
		}
		return spec, err
	}
	return BuiltIn(entry.Use)
}

// tokenSecret is the secret that collect.yaml can say another place for.
const tokenSecret = "token"

// SecretSource returns where to look for a secret of a connector: where
// collect.yaml says the provider's token is, else where the connector's file
// says.
func (s Settings) SecretSource(provider string, secret declarative.Secret) declarative.Secret {
	p, ok := s.Providers[provider]
	if !ok || secret.Name != tokenSecret || p.TokenEnv+p.TokenFile+p.TokenCommand == "" {
		return secret
	}
	secret.Env, secret.File, secret.Command = p.TokenEnv, p.TokenFile, p.TokenCommand
	return secret
}

// MayReceive checks where the token that collect.yaml holds for a provider goes.
// A file that calls its provider by that name could have it sent anywhere, so
// it is bound to the origins that are written beside it and to those of the
// built-in connector of the provider.
func (s Settings) MayReceive(spec *declarative.Spec, params map[string]string) error {
	name := spec.ProviderName()
	if p := s.Providers[name]; p.TokenEnv+p.TokenFile+p.TokenCommand == "" {
		return nil // its secrets are where its own file says
	}
	origins, err := spec.Recipients(tokenSecret, params)
	if err != nil {
		return nil // it cannot be built, which Build tells
	}
	allowed := append(builtInOrigins(name), s.Providers[name].Origins...)
	for _, origin := range origins {
		if !slices.Contains(allowed, origin) {
			return &problem.UnboundError{Provider: name, Origin: origin, Origins: origins, Written: s.Providers[name].tokenOrigin()}
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
			if to, err := spec.Recipients(tokenSecret, nil); err == nil {
				origins = append(origins, to...)
			}
		}
	}
	return origins
}

// tokenOrigin returns where the token is written: "collect.yaml:5".
func (p Provider) tokenOrigin() string {
	return cmp.Or(p.Origin["token_env"], p.Origin["token_file"], p.Origin["token_command"])
}

// Overrides returns what collect.yaml says of a provider.
func (s Settings) Overrides(provider string) declarative.Overrides {
	p := s.Providers[provider]
	o := declarative.Overrides{
		CeilingPerSecond: p.PerSecond,
		StartPerSecond:   p.StartPerSecond,
		On403:            collection.ForbiddenPolicy(p.Forbidden),
		Pace:             p.Pace,
	}
	if p.PerDay > 0 {
		o.Ceilings = []collection.Ceiling{{Count: int(p.PerDay), Per: 24 * time.Hour}}
	}
	return o
}

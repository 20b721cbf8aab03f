package cmd

import (
	"errors"
	"time"

	"collect/collection"
	"collect/connectors/declarative"
)

// specOf reads the connector file that an entry uses.
func (s settings) specOf(entry connectorSettings) (*declarative.Spec, error) {
	if isFile(entry.Use) {
		spec, err := parseFile(entry.Use)
		if missing, ok := errors.AsType[*noFileError](err); ok {
			missing.Named = entry.Origin
		}
		return spec, err
	}
	return parseBuiltIn(entry.Use)
}

// secretSource returns where to look for a secret of a connector: where
// collect.yaml says the provider's token is, else where the connector's file
// says.
func (s settings) secretSource(provider string, secret declarative.Secret) declarative.Secret {
	p, ok := s.Providers[provider]
	if !ok || secret.Name != "token" || p.TokenEnv+p.TokenFile+p.TokenCommand == "" {
		return secret
	}
	secret.Env, secret.File, secret.Command = p.TokenEnv, p.TokenFile, p.TokenCommand
	return secret
}

// overrides returns what collect.yaml says of a provider.
func (s settings) overrides(provider string) declarative.Overrides {
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

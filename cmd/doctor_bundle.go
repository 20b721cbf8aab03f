package cmd

import (
	"maps"
	"slices"

	"collect/cmd/internal/config"
	"collect/engine/registry"
)

// A bundledConfig is what of the configuration is harmless: names, limits, and
// the kind of place a token comes from.
type bundledConfig struct {
	Files       int                         `json:"files"`
	StateNamed  bool                        `json:"state_named"`
	MaxTime     string                      `json:"max_time"`
	MaxRequests int64                       `json:"max_requests"`
	Progress    string                      `json:"progress"`
	Providers   map[string]bundledProvider  `json:"providers"`
	Connectors  map[string]bundledConnector `json:"connectors"`
}

type bundledProvider struct {
	Token          string  `json:"token"` // env, file, command or none
	PerSecond      float64 `json:"ceiling_per_second"`
	StartPerSecond float64 `json:"start_per_second"`
	PerDay         int64   `json:"requests_per_day"`
	Forbidden      string  `json:"on_403"`
}

type bundledConnector struct {
	File    bool     `json:"file"`   // and not a built-in one
	Params  []string `json:"params"` // their names
	Streams []string `json:"streams"`
}

func bundledConfigOf(s config.Settings) bundledConfig {
	c := bundledConfig{
		Files: len(s.Files), StateNamed: s.StateNamed, MaxTime: s.MaxTime.String(), MaxRequests: s.MaxRequests, Progress: s.Progress,
		Providers: map[string]bundledProvider{}, Connectors: map[string]bundledConnector{},
	}
	for name, p := range s.Providers {
		token := "none"
		switch {
		case p.TokenEnv != "":
			token = "env"
		case p.TokenFile != "":
			token = "file"
		case p.TokenCommand != "":
			token = "command"
		case p.TokenKeyring != "":
			token = "keyring"
		}
		c.Providers[name] = bundledProvider{token, p.PerSecond, p.StartPerSecond, p.PerDay, p.Forbidden}
	}
	for name, of := range s.Entries {
		c.Connectors[name] = bundledConnector{registry.IsFile(of.Use), slices.Sorted(maps.Keys(of.Params)), of.Streams}
	}
	return c
}

package cmd

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"collect/connectors/declarative"
)

// An untrustedError says that a file which nobody named is not used, because
// another user can have written it.
type untrustedError struct {
	Path string
	Why  string
	Name string // how to say that it is meant all the same
}

func (e *untrustedError) Error() string { return fmt.Sprintf("%s is not used: %s", e.Path, e.Why) }

// A rememberedError says that a command is not run because nobody but the
// database names the file that it stands in: a database may come from anywhere.
type rememberedError struct{ Path, Secret string }

func (e *rememberedError) Error() string {
	return fmt.Sprintf("the secret `%s` is the output of a command, in a file that only the database names", e.Secret)
}

// remedy says how to have the file used. Flags are those that commands repeat.
func (e *rememberedError) remedy(flags string) string {
	return "name it under `connectors:` in collect.yaml, or give its path: collect run " + quoted(e.Path) + flags
}

// mayUse checks a connector file that only the database names. It may have been
// written by this user or root only, and none of its commands is run.
func (s settings) mayUse(path string, spec *declarative.Spec) error {
	if why := distrust(path); why != "" {
		return &untrustedError{Path: path, Why: why, Name: "give its path in place of the name"}
	}
	for _, secret := range spec.Secrets() {
		if secret.Command != "" && s.secretSource(spec.ProviderName(), secret) == secret {
			return &rememberedError{Path: path, Secret: secret.Name}
		}
	}
	return nil
}

// unencrypted is said of an origin on the way to which anybody can read along.
const unencrypted = " unencrypted, so that everybody on the way can read it (write https)"

// readable reports whether an origin is asked over plain HTTP, and is not the
// address of a machine near this one, or localhost.
func readable(origin string) bool {
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
func discloses(spec *declarative.Spec, s settings, params map[string]string) string {
	said := ""
	for _, secret := range spec.Secrets() {
		to, err := spec.Recipients(secret.Name, params)
		if err != nil || len(to) == 0 {
			continue
		}
		for i, origin := range to {
			if readable(origin) {
				to[i] += unencrypted
			}
		}
		if said != "" {
			said += ", "
		}
		said += fmt.Sprintf("secret %s (%s) goes to %s", secret.Name, s.secretSource(spec.ProviderName(), secret).From(), strings.Join(to, " and "))
	}
	return said
}

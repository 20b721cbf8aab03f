package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"collect/connectors/declarative"
	"collect/report/problem"
)

// MayUse checks a connector file that only the database names. It may have been
// written by this user or root only, and none of its commands is run.
func (s Settings) MayUse(path string, spec *declarative.Spec) error {
	if why := Distrust(path); why != "" {
		return &problem.UntrustedError{Path: path, Why: why, Name: "give its path in place of the name"}
	}
	for _, secret := range spec.Secrets() {
		if secret.Command != "" && s.SecretSource(spec.ProviderName(), secret) == secret {
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

// Discloses says which secrets of this user a connector reads, and where it
// sends them: "secret token (env ACME_TOKEN) goes to https://api.acme.test".
func Discloses(spec *declarative.Spec, s Settings, params map[string]string) string {
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
		said += fmt.Sprintf("secret %s (%s) goes to %s", secret.Name, s.SecretSource(spec.ProviderName(), secret).From(), strings.Join(to, " and "))
	}
	return said
}

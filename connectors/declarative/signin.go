package declarative

import (
	"net/url"
	"slices"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/oauth2"
)

// A SignIn is how a person gets a refresh token for a connector.
type SignIn struct {
	oauth2.Login
	Secret Secret          // that the refresh token is
	TLS    *collection.TLS // what connections need; nil: nothing
}

// SignsIn returns the name of the secret that a person gets by signing in; "" if the
// file does not say how.
func (s *Spec) SignsIn() string {
	if auth := s.file.Auth; auth != nil && auth.OAuth2 != nil && auth.OAuth2.SignsIn() {
		return auth.OAuth2.Refresh()
	}
	return ""
}

// SignIn returns how a person signs in. It needs no refresh token. ok is false if the
// file does not say how. Errors are those of [Spec.Build].
func (s *Spec) SignIn(o Options) (in SignIn, ok bool, err error) {
	name := s.SignsIn()
	if name == "" {
		return SignIn{}, false, nil
	}
	c := &connector{spec: s.file}
	if c.params, err = c.resolveParams(o.Params); err != nil {
		return SignIn{}, true, err
	}
	if err := c.address(o.Provider.BaseURL); err != nil {
		return SignIn{}, true, err
	}
	if err := c.secure(o.Secrets); err != nil {
		return SignIn{}, true, err
	}
	auth := s.file.Auth.OAuth2
	values := notation.Scope{Params: c.params, Secrets: map[string]string{}}
	for _, secret := range s.file.Secrets {
		if secret.Name == name || !s.file.Auth.Uses(secret.Name) {
			continue
		}
		if o.Secrets[secret.Name].Value == "" {
			return SignIn{}, true, &MissingSecretError{Name: secret.Name, Looked: []string{secret.From()}}
		}
		values.Secrets[secret.Name] = o.Secrets[secret.Name].Value
	}
	in = SignIn{Secret: s.file.Secret(name), TLS: c.provider.TLS}
	if in.Config, err = configOf(auth, values); err != nil {
		return SignIn{}, true, err
	}
	in.Scope, in.Redirect, in.Plain = auth.Scope.Expand(values), auth.Redirect.Text, slices.Contains([]string{"off", "false"}, auth.PKCE.Text)
	for _, address := range []struct {
		name string
		from notation.Template
		to   *string
	}{{"authorize_url", auth.AuthorizeURL, &in.AuthorizeURL}, {"device_url", auth.DeviceURL, &in.DeviceURL}, {"revoke_url", auth.RevokeURL, &in.RevokeURL}} {
		if *address.to = address.from.Expand(values); *address.to == "" {
			continue
		}
		if u, err := url.Parse(*address.to); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
			return SignIn{}, true, &BadParamError{Name: address.name, Problem: "is not an HTTP address"}
		}
	}
	return in, true, nil
}

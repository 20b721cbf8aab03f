package language

import (
	"slices"
	"strings"

	"collect/connectors/declarative/internal/notation"
	"collect/internal/yamlfile"
)

// Place returns where s stands, or where the block does if it is not there.
func (o *Oauth2Spec) Place(s yamlfile.Scalar) yamlfile.Span {
	if s.Set {
		return s.At
	}
	return o.At
}

// Refresh returns the name of the secret that the refresh token is; "" if it is
// none.
func (o *Oauth2Spec) Refresh() string {
	if len(o.RefreshToken.Parts) != 1 {
		return ""
	}
	name, _ := strings.CutPrefix(o.RefreshToken.Parts[0].Name, "secrets.")
	return name
}

// SignsIn reports whether a person can sign in, to get the refresh token.
func (o *Oauth2Spec) SignsIn() bool { return o.AuthorizeURL.Text != "" || o.DeviceURL.Text != "" }

// Templates returns the parts of the credential that may hold a secret.
func (a *AuthSpec) Templates() []notation.Template {
	var used []notation.Template
	if a.Bearer.Set {
		used = append(used, a.Bearer)
	}
	if a.Basic != nil {
		used = append(used, a.Basic.User, a.Basic.Password)
	}
	for _, key := range a.APIKey {
		used = append(used, key.Value)
	}
	if o := a.OAuth2; o != nil {
		used = append(used, o.ClientID, o.ClientSecret, o.RefreshToken)
	}
	if a.Session != nil {
		for _, f := range a.Session.Fields() {
			used = append(used, f.Value)
		}
	}
	for _, j := range a.jwts() {
		used = append(used, j.Key, j.KeyID)
		for _, claim := range j.Claims {
			used = append(used, claim.Value)
		}
	}
	if h := a.HMAC; h != nil {
		used = append(used, h.Key, h.Secret, h.Passphrase)
	}
	if w := a.AWS; w != nil {
		used = append(used, w.AccessKey, w.SecretKey, w.SessionToken)
	}
	return used
}

// Fields returns what a login sends: the fields of its form, or the texts of its
// JSON by the names of their members.
func (s *SessionSpec) Fields() yamlfile.Ordered[notation.Template] {
	fields := s.Form
	if s.JSON != nil {
		s.JSON.Texts("", func(name string, text yamlfile.Scalar) {
			f := yamlfile.Entry[notation.Template]{Value: notation.TemplateOf(&yamlfile.Decoder{}, text)} // its mistakes are told when it is compiled
			f.Key.Text = name
			fields = append(fields, f)
		})
	}
	return fields
}

// jwts returns the tokens that are signed here.
func (a *AuthSpec) jwts() (all []*JWTSpec) {
	if a.JWT != nil {
		all = append(all, a.JWT)
	}
	if a.OAuth2 != nil && a.OAuth2.Assertion != nil {
		all = append(all, a.OAuth2.Assertion)
	}
	return all
}

// Uses reports whether a secret is part of the credential.
func (a *AuthSpec) Uses(secret string) bool { return refers(a.Templates(), secret) }

// Signs reports whether a secret is a key to sign with, which is never sent, and
// so may have several lines.
func (a *AuthSpec) Signs(secret string) bool {
	return slices.ContainsFunc(a.jwts(), func(j *JWTSpec) bool { return refers([]notation.Template{j.Key}, secret) })
}

// Templates returns the parts that are secrets.
func (t *TLSSpec) Templates() (used []notation.Template) {
	for _, part := range []notation.Template{t.Certificate, t.Key, t.CA} {
		if part.Set {
			used = append(used, part)
		}
	}
	return used
}

// Uses reports whether a secret is the certificate or its key.
func (t *TLSSpec) Uses(secret string) bool {
	return refers([]notation.Template{t.Certificate, t.Key}, secret)
}

func refers(used []notation.Template, secret string) bool {
	return slices.ContainsFunc(used, func(t notation.Template) bool { return t.Refers("secrets." + secret) })
}

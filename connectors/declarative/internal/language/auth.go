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

// Uses reports whether a secret is part of the credential.
func (a *AuthSpec) Uses(secret string) bool {
	used := []notation.Template{a.Bearer}
	if a.Basic != nil {
		used = append(used, a.Basic.User, a.Basic.Password)
	}
	if a.APIKey != nil {
		used = append(used, a.APIKey.Value)
	}
	if o := a.OAuth2; o != nil {
		used = append(used, o.ClientID, o.ClientSecret, o.RefreshToken)
	}
	return slices.ContainsFunc(used, func(t notation.Template) bool { return t.Refers("secrets." + secret) })
}

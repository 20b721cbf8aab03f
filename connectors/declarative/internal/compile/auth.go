package compile

import (
	"fmt"
	"slices"

	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
)

// checkOAuth2 returns the parts that may hold a secret.
func (c *checker) checkOAuth2(o *language.Oauth2Spec) (used []notation.Template) {
	c.template(o.TokenURL, c.params)
	if _, err := BaseAddress(o.TokenURL.Text); err != nil && !o.TokenURL.Refers("params.") {
		c.Fail(o.Place(o.TokenURL.Scalar), "token_url "+err.Error(), "")
	}
	if o.ClientID.Text == "" {
		c.Fail(o.Place(o.ClientID.Scalar), "oauth2 needs the `client_id`", "")
	}
	for _, t := range []notation.Template{o.ClientSecret, o.RefreshToken} {
		if t.Set && !t.Refers("secrets.") {
			c.writtenCredential(t.At)
		}
	}
	if o.RefreshToken.Set && o.Refresh() == "" {
		c.Fail(o.RefreshToken.At, "a refresh_token is one secret, as it is", "")
	}
	if o.ClientSecret.Text == "" && o.RefreshToken.Text == "" {
		c.Fail(o.At, "oauth2 needs a `client_secret`, a `refresh_token`, or both", "")
	}
	c.OneOf(o.ClientAuth, language.ClientAuths[:]...)
	c.template(o.Scope, c.params)
	for _, f := range o.Fields {
		c.template(f.Value, c.params)
		if slices.Contains(language.OwnFields[:], f.Key.Text) {
			c.Fail(f.Key.At, fmt.Sprintf("`%s` has a key of its own, or is set by collect", f.Key.Text), "")
		}
	}
	return []notation.Template{o.ClientID, o.ClientSecret, o.RefreshToken}
}

// checkRotated sees to it that a secret that changes is one that can: it is
// replaced by a token endpoint, and there is a file for the new one.
func (c *checker) checkRotated() {
	for _, e := range c.doc.Secrets {
		if !e.Value.Rotate.Value {
			continue
		}
		auth := c.doc.Provider.Auth
		switch {
		case e.Value.File.Text == "":
			c.Fail(e.Value.Rotate.At, "a secret that is replaced is in a `file`", "")
		case auth == nil || auth.OAuth2 == nil || auth.OAuth2.Refresh() != e.Key.Text:
			c.Fail(e.Value.Rotate.At, "rotate is for the secret that is a refresh_token", "")
		}
	}
}

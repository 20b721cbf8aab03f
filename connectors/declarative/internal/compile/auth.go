package compile

import (
	"fmt"
	"maps"
	"slices"

	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/signing"
	"collect/internal/yamlfile"
)

// wants notes the keys that a block lacks.
func (c *checker) wants(at yamlfile.Span, block string, keys map[string]yamlfile.Scalar) {
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if keys[name].Text == "" {
			c.Fail(at, fmt.Sprintf("%s needs the key `%s`", block, name), "")
		}
	}
}

// fromSecret notes what is written into the file and must not be.
func (c *checker) fromSecret(used ...notation.Template) {
	for _, t := range used {
		if t.Set && !t.Refers("secrets.") {
			c.writtenCredential(t.At)
		}
	}
}

func (c *checker) checkJWT(j *language.JWTSpec) {
	c.wants(j.At, "jwt", map[string]yamlfile.Scalar{"key": j.Key.Scalar})
	c.fromSecret(j.Key)
	c.OneOf(j.Algorithm, signing.Algorithms[:]...)
	for _, claim := range j.Claims {
		if claim.Key.Text == "iat" || claim.Key.Text == "exp" {
			c.Fail(claim.Key.At, fmt.Sprintf("`%s` is set by collect", claim.Key.Text), "")
		}
	}
}

func (c *checker) checkKeys(keys []language.APIKeySpec) {
	var names []string
	for _, k := range keys {
		if len(keys) > 1 { // of one, it is said of auth
			c.wants(k.At, "an API key", map[string]yamlfile.Scalar{"value": k.Value.Scalar})
			c.fromSecret(k.Value)
		}
		var where []string
		for _, s := range []yamlfile.Scalar{k.Header, k.Query, k.Cookie} {
			if s.Text != "" {
				where = append(where, s.Text)
			}
		}
		switch {
		case len(where) != 1:
			c.Fail(k.At, "an API key needs one of header, query and cookie: the name it is sent under", "")
		case slices.Contains(names, where[0]):
			c.Fail(k.At, fmt.Sprintf("two keys are sent as `%s`", where[0]), "")
		}
		names = append(names, where...)
		if k.Header.Set && !isToken(k.Header.Text) {
			c.Fail(k.Header.At, "not the name of a header", "")
		}
		if k.Cookie.Set && !isToken(k.Cookie.Text) {
			c.Fail(k.Cookie.At, "not the name of a cookie", "")
		}
	}
}

func (c *checker) checkOAuth2(o *language.Oauth2Spec) {
	c.template(o.TokenURL, c.params)
	if _, err := BaseAddress(o.TokenURL.Text); err != nil && !o.TokenURL.Refers("params.") {
		c.Fail(o.Place(o.TokenURL.Scalar), "token_url "+err.Error(), "")
	}
	if o.Assertion != nil {
		c.checkJWT(o.Assertion)
		if o.RefreshToken.Set {
			c.Fail(o.RefreshToken.At, "an access token is granted for one of `assertion` and `refresh_token`", "")
		}
	}
	if o.ClientID.Text == "" && o.Assertion == nil {
		c.Fail(o.Place(o.ClientID.Scalar), "oauth2 needs the `client_id`", "")
	}
	c.fromSecret(o.ClientSecret, o.RefreshToken)
	if o.RefreshToken.Set && o.Refresh() == "" {
		c.Fail(o.RefreshToken.At, "a refresh_token is one secret, as it is", "")
	}
	if o.ClientSecret.Text == "" && o.RefreshToken.Text == "" && o.Assertion == nil {
		c.Fail(o.At, "oauth2 needs a `client_secret`, a `refresh_token`, or both, or an `assertion`", "")
	}
	c.OneOf(o.ClientAuth, language.ClientAuths[:]...)
	c.template(o.Scope, c.params)
	for _, f := range o.Fields {
		c.template(f.Value, c.params)
		if slices.Contains(language.OwnFields[:], f.Key.Text) {
			c.Fail(f.Key.At, fmt.Sprintf("`%s` has a key of its own, or is set by collect", f.Key.Text), "")
		}
	}
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

package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/signing"
	"collect/internal/lazy"
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
	c.checkSignIn(o)
	c.OneOf(o.ClientAuth, language.ClientAuths[:]...)
	c.template(o.Scope, c.params)
	for _, f := range o.Fields {
		c.template(f.Value, c.params)
		if slices.Contains(language.OwnFields[:], f.Key.Text) {
			c.Fail(f.Key.At, fmt.Sprintf("`%s` has a key of its own, or is set by collect", f.Key.Text), "")
		}
	}
}

var redirects = lazy.Regexp(language.Redirects)

// checkSignIn checks how a person signs in. What they get is kept where it can be
// written: in a file, or in the keyring.
func (c *checker) checkSignIn(o *language.Oauth2Spec) {
	for name, address := range map[string]notation.Template{"authorize_url": o.AuthorizeURL, "device_url": o.DeviceURL, "revoke_url": o.RevokeURL} {
		if !address.Set {
			continue
		}
		c.template(address, c.params)
		base, _, _ := strings.Cut(address.Text, "?")
		if name != "authorize_url" {
			base = address.Text
		}
		if _, err := BaseAddress(base); (err != nil || strings.Contains(address.Text, "#")) && !address.Refers("params.") {
			c.Fail(address.At, name+" is not an HTTP address such as https://login.example.com/authorize", "")
		}
		if !o.RefreshToken.Set {
			c.Fail(address.At, fmt.Sprintf("%s is for the secret that is the `refresh_token`, which oauth2 has not", name), "")
		}
	}
	if o.Redirect.Set && !redirects().MatchString(o.Redirect.Text) {
		c.Fail(o.Redirect.At, "a browser comes back to this machine: http://127.0.0.1:PORT/PATH, or localhost in its place", "")
	}
	c.OneOf(o.PKCE, language.PKCEs[:]...)
	if s := c.spec.Secret(o.Refresh()); s.Name != "" && o.SignsIn() && s.File == "" && s.Keyring == "" {
		c.Fail(o.RefreshToken.At, "what a person gets who signs in has to be kept: in a `file`, or in the `keyring`", "")
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

package declarative

import (
	"fmt"
	"slices"
	"strings"

	"collect/connectors/oauth2"
)

// How a client shows its secret to the token endpoint (RFC 6749, section 2.3.1).
const (
	clientBasic = "basic"
	clientBody  = "body"
)

var (
	clientAuths = [...]string{clientBasic, clientBody}
	ownFields   = [...]string{"grant_type", "refresh_token", "client_id", "client_secret", "scope"}
)

// checkOAuth2 returns the parts that may hold a secret.
func (c *checker) checkOAuth2(o *oauth2Spec) (used []template) {
	c.template(o.TokenURL, c.params)
	if _, err := baseAddress(o.TokenURL.text); err != nil && !o.TokenURL.refers("params.") {
		c.fail(o.place(o.TokenURL.scalar), "token_url "+err.Error(), "")
	}
	if o.ClientID.text == "" {
		c.fail(o.place(o.ClientID.scalar), "oauth2 needs the `client_id`", "")
	}
	for _, t := range []template{o.ClientSecret, o.RefreshToken} {
		if t.set && !t.refers("secrets.") {
			c.writtenCredential(t.at)
		}
	}
	if o.RefreshToken.set && o.refresh() == "" {
		c.fail(o.RefreshToken.at, "a refresh_token is one secret, as it is", "")
	}
	if o.ClientSecret.text == "" && o.RefreshToken.text == "" {
		c.fail(o.At, "oauth2 needs a `client_secret`, a `refresh_token`, or both", "")
	}
	c.oneOf(o.ClientAuth, clientAuths[:]...)
	c.template(o.Scope, c.params)
	for _, f := range o.Fields {
		c.template(f.value, c.params)
		if slices.Contains(ownFields[:], f.key.text) {
			c.fail(f.key.at, fmt.Sprintf("`%s` has a key of its own, or is set by collect", f.key.text), "")
		}
	}
	return []template{o.ClientID, o.ClientSecret, o.RefreshToken}
}

// place returns where s stands, or where the block does if it is not there.
func (o *oauth2Spec) place(s scalar) span {
	if s.set {
		return s.at
	}
	return o.At
}

// refresh returns the name of the secret that the refresh token is; "" if it is
// none.
func (o *oauth2Spec) refresh() string {
	if len(o.RefreshToken.parts) != 1 {
		return ""
	}
	name, _ := strings.CutPrefix(o.RefreshToken.parts[0].name, "secrets.")
	return name
}

// checkRotated sees to it that a secret that changes is one that can: it is
// replaced by a token endpoint, and there is a file for the new one.
func (c *checker) checkRotated() {
	for _, e := range c.doc.Secrets {
		if !e.value.Rotate.value {
			continue
		}
		auth := c.doc.Provider.Auth
		switch {
		case e.value.File.text == "":
			c.fail(e.value.Rotate.at, "a secret that is replaced is in a `file`", "")
		case auth == nil || auth.OAuth2 == nil || auth.OAuth2.refresh() != e.key.text:
			c.fail(e.value.Rotate.at, "rotate is for the secret that is a refresh_token", "")
		}
	}
}

// renew fills in a credential that is got when it is needed. The account is
// named by what lasts, and not by tokens.
func (c *connector) renew(o *oauth2Spec, values scope, given map[string]SecretValue) error {
	address := o.TokenURL.expand(values)
	if _, err := baseAddress(address); err != nil {
		return &BadParamError{Name: "token_url", Problem: err.Error()}
	}
	config := oauth2.Config{
		URL: address, ClientID: o.ClientID.expand(values), ClientSecret: o.ClientSecret.expand(values),
		InBody: o.ClientAuth.text == clientBody, Refresh: o.RefreshToken.expand(values),
	}
	if scope := o.Scope.expand(values); scope != "" {
		config.Fields = append(config.Fields, [2]string{"scope", scope})
	}
	for _, f := range o.Fields {
		if !values.lacks(f.value) {
			config.Fields = append(config.Fields, [2]string{f.key.text, f.value.expand(values)})
		}
	}
	name := o.ClientSecret.text
	if refresh := o.refresh(); refresh != "" {
		name = refresh
		if config.Replace = given[refresh].Replace; config.Replace == nil && c.spec.secret(refresh).Rotate {
			return &BadSecretError{Name: refresh, Problem: "is replaced when it is used, so that it has to be in a file"}
		}
	}
	source := oauth2.New(config)
	p := &c.provider
	p.Authorize, p.Renewal = source.Authorize, source
	p.Credential = strings.Join([]string{"oauth2", address, config.ClientID, name}, "\n")
	c.secrets.renewed = source.Secrets
	return nil
}

func (s *Spec) secret(name string) Secret {
	i := slices.IndexFunc(s.secrets, func(secret Secret) bool { return secret.Name == name })
	if i < 0 {
		return Secret{}
	}
	return s.secrets[i]
}

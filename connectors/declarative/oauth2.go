package declarative

import (
	"strings"

	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/oauth2"
)

// renew fills in a credential that is got when it is needed. The account is
// named by what lasts, and not by tokens.
func (c *connector) renew(o *language.Oauth2Spec, values notation.Scope, given map[string]SecretValue) error {
	address := o.TokenURL.Expand(values)
	if _, err := compile.BaseAddress(address); err != nil {
		return &BadParamError{Name: "token_url", Problem: err.Error()}
	}
	config := oauth2.Config{
		URL: address, ClientID: o.ClientID.Expand(values), ClientSecret: o.ClientSecret.Expand(values),
		InBody: o.ClientAuth.Text == language.ClientBody, Refresh: o.RefreshToken.Expand(values),
	}
	if o.Assertion != nil {
		tokens, err := newTokens(o.Assertion, values)
		if err != nil {
			return err
		}
		config.Assertion = tokens.Token
	}
	if scope := o.Scope.Expand(values); scope != "" {
		config.Fields = append(config.Fields, [2]string{"scope", scope})
	}
	for _, f := range o.Fields {
		if !values.Lacks(f.Value) {
			config.Fields = append(config.Fields, [2]string{f.Key.Text, f.Value.Expand(values)})
		}
	}
	name := o.ClientSecret.Text
	if refresh := o.Refresh(); refresh != "" {
		name = refresh
		if config.Replace = given[refresh].Replace; config.Replace == nil && c.spec.Secret(refresh).Rotate {
			return &BadSecretError{Name: refresh, Problem: "is replaced when it is used, so that it has to be in a file"}
		}
	}
	source := oauth2.New(config)
	p := &c.provider
	p.Authorize, p.Renewal = source.Authorize, source
	p.Credential = strings.Join([]string{"oauth2", address, config.ClientID, name}, "\n")
	if o.Assertion != nil {
		p.Credential += "\n" + o.Assertion.Key.Expand(values)
	}
	c.secrets.renewed = source.Secrets
	return nil
}

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
	config, err := configOf(o, values)
	if err != nil {
		return err
	}
	config.Refresh, config.SignsIn = o.RefreshToken.Expand(values), o.SignsIn()
	if o.Assertion != nil {
		tokens, err := newTokens(o.Assertion, values)
		if err != nil {
			return err
		}
		config.Assertion = tokens.Token
	}
	if scope := o.Scope.Expand(values); scope != "" {
		config.Fields = append([][2]string{{"scope", scope}}, config.Fields...)
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
	p.Credential = strings.Join([]string{"oauth2", config.URL, config.ClientID, name}, "\n")
	if o.Assertion != nil {
		p.Credential += "\n" + o.Assertion.Key.Expand(values)
	}
	c.secrets.renewed = source.Secrets
	return nil
}

// configOf returns what every request for a token says, but for its scope.
func configOf(o *language.Oauth2Spec, values notation.Scope) (oauth2.Config, error) {
	config := oauth2.Config{
		URL: o.TokenURL.Expand(values), ClientID: o.ClientID.Expand(values), ClientSecret: o.ClientSecret.Expand(values),
		InBody: o.ClientAuth.Text == language.ClientBody,
	}
	if _, err := compile.BaseAddress(config.URL); err != nil {
		return config, &BadParamError{Name: "token_url", Problem: err.Error()}
	}
	for _, f := range o.Fields {
		if !values.Lacks(f.Value) {
			config.Fields = append(config.Fields, [2]string{f.Key.Text, f.Value.Expand(values)})
		}
	}
	return config, nil
}

package declarative

import (
	"net/http"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/request"
	"collect/connectors/signing"
)

// authorize fills in how requests get their credential.
func (c *connector) authorize(given map[string]SecretValue) error {
	auth := c.spec.Auth
	if auth == nil {
		return nil
	}
	secrets, from, err := c.resolveSecrets(given)
	if err != nil || secrets == nil {
		return err
	}
	values := notation.Scope{Params: c.params, Secrets: secrets}
	c.secrets = newCredentials(secrets)
	p := &c.provider
	p.CredentialFrom = from
	switch {
	case auth.OAuth2 != nil:
		return c.renew(auth.OAuth2, values, given)
	case auth.Session != nil:
		return c.login(auth.Session, values)
	case auth.Bearer.Set:
		p.Credential = auth.Bearer.Expand(values)
		p.Authorize = setHeader("Authorization", "Bearer "+p.Credential)
	case auth.Basic != nil:
		user, password := auth.Basic.User.Expand(values), auth.Basic.Password.Expand(values)
		p.Credential, p.Secrets = user+":"+password, findable([]string{password})
		p.Authorize = func(req *http.Request) { req.SetBasicAuth(user, password) }
	case auth.JWT != nil:
		return c.signToken(auth.JWT, values)
	case auth.HMAC != nil:
		return c.signByRecipe(auth.HMAC, values)
	case auth.AWS != nil:
		a := auth.AWS
		access, secret, session := a.AccessKey.Expand(values), a.SecretKey.Expand(values), a.SessionToken.Expand(values)
		p.Credential, p.Secrets = access, findable([]string{secret, session})
		p.Authorize = signing.AWS(access, secret, session, a.Region.Expand(values), a.Service.Text)
	default:
		c.keys(auth.APIKey, values)
	}
	return nil
}

// takeTurns fills in further accounts. Each has a credential of its own.
func (c *connector) takeTurns(more []map[string]SecretValue) error {
	known := []credentials{c.secrets}
	for _, secrets := range more {
		one := &connector{spec: c.spec, params: c.params, baseURL: c.baseURL}
		if err := one.authorize(secrets); err != nil {
			return err
		}
		p := one.provider
		if p.Renewal != nil { // its name has no secret that would tell one account from another
			p.Credential += "\n" + p.CredentialFrom
		}
		c.provider.More = append(c.provider.More, collection.Account{
			Authorize: p.Authorize, Renewal: p.Renewal, Credential: p.Credential, CredentialFrom: p.CredentialFrom, Secrets: p.Secrets,
		})
		known = append(known, one.secrets)
	}
	if len(known) > 1 {
		c.secrets = credentials{renewed: func() (all []string) {
			for _, one := range known {
				all = append(all, one.all()...)
			}
			return all
		}}
	}
	return nil
}

// Accounts returns the connector once for each of its accounts, and for no other one.
func (c *connector) Accounts() []connectors.Connector {
	var all []connectors.Connector
	for _, provider := range c.provider.Each() {
		all = append(all, &connector{
			spec: c.spec, params: c.params, baseURL: c.baseURL, provider: provider, limits: c.limits, keysInQuery: c.keysInQuery, secrets: c.secrets,
		})
	}
	return all
}

// signToken fills in a credential that is a token which is signed here. Its key
// names the account.
func (c *connector) signToken(j *language.JWTSpec, values notation.Scope) error {
	tokens, err := newTokens(j, values)
	if err != nil {
		return err
	}
	p := &c.provider
	p.Credential = j.Key.Expand(values)
	p.Authorize = func(req *http.Request) {
		if token, err := tokens.Token(); err == nil { // the key was tried when it was read
			req.Header.Set("Authorization", "Bearer "+token)
		}
	}
	c.secrets.renewed = func() []string {
		token, _ := tokens.Token()
		return []string{token}
	}
	return nil
}

// newTokens returns the signer of the tokens that j describes.
func newTokens(j *language.JWTSpec, values notation.Scope) (*signing.Tokens, error) {
	config := signing.JWT{Algorithm: j.Algorithm.Text, KeyID: j.KeyID.Expand(values), Claims: map[string]string{}, Lifetime: j.Lifetime.Value}
	for _, claim := range j.Claims {
		if !values.Lacks(claim.Value) {
			config.Claims[claim.Key.Text] = claim.Value.Expand(values)
		}
	}
	tokens, err := signing.NewTokens(config, j.Key.Expand(values))
	if err != nil {
		return nil, &BadSecretError{Name: secretIn(j.Key), Problem: err.Error()}
	}
	return tokens, nil
}

func (c *connector) signByRecipe(h *language.HMACSpec, values notation.Scope) error {
	key, secret, passphrase := h.Key.Expand(values), h.Secret.Expand(values), h.Passphrase.Expand(values)
	sign, params, err := signing.HMAC(h.Recipe.Text, key, secret, passphrase)
	if err != nil {
		return &BadSecretError{Name: secretIn(h.Secret), Problem: err.Error()}
	}
	p := &c.provider
	p.Credential, p.Secrets, p.Authorize = key, findable([]string{secret, passphrase}), sign
	c.keysInQuery = params
	return nil
}

// secretIn returns the name of the first secret that a template refers to.
func secretIn(t notation.Template) string {
	for _, part := range t.Parts {
		if name, ok := strings.CutPrefix(part.Name, "secrets."); ok {
			return name
		}
	}
	return ""
}

// keys fills in a credential that is one or several keys.
func (c *connector) keys(keys []language.APIKeySpec, values notation.Scope) {
	p := &c.provider
	var all []string
	var attach []func(*http.Request)
	for _, key := range keys {
		value := key.Value.Expand(values)
		all = append(all, value)
		sent := key.Prefix.Text + value
		switch {
		case key.Header.Text != "":
			attach = append(attach, setHeader(key.Header.Text, sent))
		case key.Cookie.Text != "":
			attach = append(attach, func(req *http.Request) { req.AddCookie(&http.Cookie{Name: key.Cookie.Text, Value: sent}) }) // #nosec G124 -- a request has no attributes of cookies
		default:
			c.keysInQuery = append(c.keysInQuery, key.Query.Text)
			attach = append(attach, setParam(key.Query.Text, sent))
		}
	}
	p.Credential = strings.Join(all, "\n")
	if len(all) > 1 {
		p.Secrets = findable(all)
	}
	p.Authorize = func(req *http.Request) {
		for _, set := range attach {
			set(req)
		}
	}
}

func setHeader(name, value string) func(*http.Request) {
	return func(req *http.Request) { req.Header.Set(name, value) }
}

// setParam replaces a parameter of the query. Others keep every byte.
func setParam(name, value string) func(*http.Request) {
	pair := collection.EscapeQuery(name) + "=" + collection.EscapeQuery(value)
	return func(req *http.Request) {
		u := *req.URL // the caller's URL stays as it is
		without := request.WithoutParams("?"+u.RawQuery, func(param, _ string) bool { return param == name })
		u.RawQuery = strings.TrimPrefix(without+"&"+pair, "?")
		u.RawQuery = strings.TrimPrefix(u.RawQuery, "&")
		req.URL = &u
	}
}

// resolveSecrets returns the values of all secrets that auth uses, and where
// they are from. It returns nil if one that is optional is missing.
func (c *connector) resolveSecrets(given map[string]SecretValue) (values map[string]string, from string, err error) {
	values = map[string]string{}
	var places []string
	for _, secret := range c.spec.Secrets {
		if !c.spec.Auth.Uses(secret.Name) {
			continue
		}
		v := given[secret.Name]
		switch {
		case v.Value == "" && secret.Optional:
			return nil, "", nil
		case v.Value == "":
			return nil, "", &MissingSecretError{Name: secret.Name, Looked: []string{secret.From()}}
		case !c.spec.Auth.Signs(secret.Name) && strings.ContainsFunc(v.Value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return nil, "", &BadSecretError{Name: secret.Name, Problem: "contains a line break or another control character"}
		}
		values[secret.Name] = v.Value
		if v.From != "" && !slices.Contains(places, v.From) {
			places = append(places, v.From)
		}
	}
	return values, strings.Join(places, ", "), nil
}

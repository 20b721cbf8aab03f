// Package compile checks a connector file and compiles it to what a walk needs.
package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/since"
	"collect/connectors/signing"
	"collect/internal/yamlfile"
)

// Document compiles a connector file, or returns its mistakes.
func Document(doc *language.Document) (*File, []yamlfile.Fault) {
	c := &checker{doc: doc, spec: &File{}}
	c.check()
	written, _ := credentials(doc)
	for _, w := range written {
		if !slices.ContainsFunc(c.Faults, func(f yamlfile.Fault) bool { return f.At == w.At }) {
			c.Faults = append(c.Faults, w)
		}
	}
	return c.spec, c.Faults
}

func (c *checker) check() {
	start := yamlfile.Span{Line: 1, Column: 1, Length: 1}
	c.spec.Name = c.doc.Connector.Text
	if c.spec.Name == "" {
		c.Fail(start, "the file has no `connector`: the name to run it by", "")
	}
	c.checkParams()
	c.checkSecrets()
	c.checkProvider()
	if len(c.doc.Streams) == 0 {
		c.Fail(start, "the file has no `streams`", "")
	}
	c.spec.Throttle = c.rules(c.doc.Provider.Throttle, collection.Throttle)
	c.usual = c.records(c.doc.Defaults.Records)
	for _, e := range c.doc.Streams {
		language.CheckName(&c.Decoder, e.Key)
		c.spec.Streams = append(c.spec.Streams, c.stream(e.Key, e.Value))
		c.route(e.Key.Text, e.Value)
	}
	c.boundFields()
	c.parentsFirst()
}

func (c *checker) checkParams() {
	c.params.where = "here"
	for _, e := range c.doc.Params {
		language.CheckName(&c.Decoder, e.Key)
		p := Param{
			Name: e.Key.Text, Type: e.Value.Type.Text, Required: e.Value.Required.Value,
			Default: e.Value.Default.Text, About: e.Value.About.Text,
		}
		if !e.Value.Type.Set {
			p.Type = "string"
		}
		if !slices.Contains(language.ParamTypes[:], p.Type) {
			c.Fail(e.Value.Type.At, fmt.Sprintf("unknown type `%s`", p.Type), "one of "+strings.Join(language.ParamTypes[:], ", "))
		} else if problem := p.Problem(p.Default); p.Default != "" && problem != "" {
			c.Fail(e.Value.Default.At, "the default "+problem, "")
		}
		c.spec.Params = append(c.spec.Params, p)
		c.params.names = append(c.params.names, "params."+p.Name)
	}
}

// Problem says why value is not one of the parameter; "" if it is.
func (p Param) Problem(value string) string {
	var err error
	switch p.Type {
	case "int":
		if _, err = strconv.ParseInt(value, 10, 64); err != nil {
			return "is not a whole number"
		}
	case "number":
		if !since.IsNumber(value) {
			return "is not a number"
		}
	case "bool":
		if value != "true" && value != "false" {
			return "is neither true nor false"
		}
	case "date":
		if _, _, ok := since.ParseTime(value); !ok {
			return "is not a date such as 2024-01-31, or a time such as 2024-01-31T12:00:00Z"
		}
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "contains a control character"
	}
	return ""
}

func (c *checker) checkSecrets() {
	several := 0 // entries of the first list
	for _, e := range c.doc.Secrets {
		language.CheckName(&c.Decoder, e.Key)
		s := Secret{Name: e.Key.Text, Optional: e.Value.Optional.Value, Rotate: e.Value.Rotate.Value}
		given := 0
		for _, source := range []struct {
			texts yamlfile.Texts
			set   func(*Secret, string)
		}{
			{e.Value.Env, func(s *Secret, text string) { s.Env = text }}, {e.Value.File, func(s *Secret, text string) { s.File = text }},
			{e.Value.Keyring, func(s *Secret, text string) { s.Keyring = text }}, {e.Value.Command, func(s *Secret, text string) { s.Command = text }},
		} {
			if source.texts.Text == "" {
				continue
			}
			given++
			one := s
			source.set(&s, source.texts.Text)
			for i, text := range source.texts.All[1:] {
				if slices.ContainsFunc(source.texts.All[:i+1], func(t yamlfile.Scalar) bool { return t.Text == text.Text }) {
					c.Fail(text.At, "this is in the list already", "")
				}
				next := one
				source.set(&next, text.Text)
				s.Others = append(s.Others, next)
			}
			switch n := len(source.texts.All); {
			case n == 1:
			case several == 0:
				several = n
			case several != n:
				c.Fail(source.texts.At, fmt.Sprintf("this list has %d parts, and that of another secret has %d: the first parts belong together, then the second ones", n, several), "")
			}
		}
		for _, env := range e.Value.Env.All {
			if name, ok := strings.CutPrefix(env.Text, "$"); ok {
				f := yamlfile.Fault{At: env.At, Message: "an environment variable is named without its `$`"}
				f.Note = "env: " + strings.Trim(name, "{}")
				c.Faults = append(c.Faults, f)
			}
		}
		if given != 1 {
			c.Fail(e.Key.At, fmt.Sprintf("the secret `%s` needs one of env, file, keyring and command", s.Name), "")
		}
		c.spec.Secrets = append(c.spec.Secrets, s)
	}
	c.checkRotated()
}

func (c *checker) checkProvider() {
	spec := c.doc.Provider
	p := &c.spec.Provider
	p.Name, p.Party = spec.Name.Text, spec.Name.Text
	if p.Name == "" {
		p.Name = c.spec.Name
	}
	c.spec.BaseURL, c.spec.Origins = spec.BaseURL, spec.Origins
	c.template(spec.BaseURL, c.params)
	switch {
	case !spec.BaseURL.Set || spec.BaseURL.Text == "":
		c.Fail(yamlfile.Span{Line: 1, Column: 1, Length: 1}, "provider has no `base_url`", "")
	case !spec.BaseURL.Refers("params."):
		if _, err := BaseAddress(spec.BaseURL.Text); err != nil {
			c.Fail(spec.BaseURL.At, "base_url "+err.Error(), "")
		}
	}
	for _, o := range spec.Origins {
		c.template(o, c.params)
		if _, err := BaseAddress(o.Text); err != nil && !o.Refers("params.") {
			c.Fail(o.At, "an origin "+err.Error(), "")
		}
	}
	c.checkAuth(spec.Auth)
	c.checkTLS(spec.TLS)
	c.checkPace(spec, p)
	c.OneOf(spec.On403, language.Forbidden[:]...)
	p.Forbidden = collection.ForbiddenPolicy(spec.On403.Text)
	c.OneOf(spec.Turns, language.Turns[:]...)
	p.KeepsAccount = spec.Turns.Text == language.TurnsWalk
	l := spec.Limits
	p.Limits = collection.Limits{
		Request: l.RequestTimeout.Value, Header: l.HeaderTimeout.Value,
		Body: l.Body.Value, Record: l.Record.Value, Headers: l.Headers.Value, Cursor: int(l.Cursor.Value),
		PagesWithout: l.PagesWithoutNew.Value, Pages: l.Pages.Value, Attempts: l.Attempts.Value, LongestWait: l.LongestRetryWait.Value,
	}
}

// checkAuth sees to it that a credential comes from a secret, always.
func (c *checker) checkAuth(spec *language.AuthSpec) {
	if spec == nil || spec.None.Value {
		return
	}
	var secrets []string
	for _, s := range c.spec.Secrets {
		secrets = append(secrets, "secrets."+s.Name)
	}
	used := spec.Templates()
	ways := 0
	for _, given := range []bool{spec.Bearer.Set, spec.Basic != nil, spec.APIKey != nil, spec.OAuth2 != nil, spec.Session != nil, spec.JWT != nil, spec.HMAC != nil, spec.AWS != nil} {
		if given {
			ways++
		}
	}
	c.checkKeys(spec.APIKey)
	if spec.OAuth2 != nil {
		c.checkOAuth2(spec.OAuth2)
	}
	if spec.Session != nil {
		c.checkSession(spec.Session, secrets)
	}
	if spec.JWT != nil {
		c.checkJWT(spec.JWT)
	}
	if h := spec.HMAC; h != nil {
		c.OneOf(h.Recipe, signing.Recipes[:]...)
		c.wants(h.At, "hmac", map[string]yamlfile.Scalar{"recipe": h.Recipe, "key": h.Key.Scalar, "secret": h.Secret.Scalar})
		c.fromSecret(h.Secret, h.Passphrase)
	}
	if w := spec.AWS; w != nil {
		c.template(w.Region, c.params)
		c.wants(w.At, "aws", map[string]yamlfile.Scalar{"access_key": w.AccessKey.Scalar, "secret_key": w.SecretKey.Scalar, "region": w.Region.Scalar, "service": w.Service})
		c.fromSecret(w.SecretKey, w.SessionToken)
	}
	secret, before := false, len(c.Faults)
	for _, t := range used {
		c.secretTemplate(t, secrets)
		secret = secret || t.Refers("secrets.")
	}
	switch {
	case ways != 1:
		c.Fail(spec.At, "auth needs one of none, bearer, basic, api_key, oauth2, session, jwt, hmac and aws", "")
	case !secret && spec.OAuth2 == nil && len(used) > 0 &&
		(slices.ContainsFunc(used, notation.Template.Writes) || len(c.Faults) == before): // else it is the unknown name that was said
		if spec.Session != nil {
			c.writtenPassword(written(used))
			break
		}
		c.writtenCredential(written(used))
	default:
		c.spec.Auth = spec
	}
	c.checkProbe(spec.Probe)
}

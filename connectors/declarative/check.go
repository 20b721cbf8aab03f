package declarative

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"collect/collection"
)

// A checker compiles a document into a Spec and collects what is wrong.
type checker struct {
	decoder
	doc    *document
	spec   *Spec
	params known
}

func (c *checker) check() {
	file := span{line: 1, column: 1, length: 1}
	c.spec.name = c.doc.Connector.text
	if c.spec.name == "" {
		c.fail(file, "the file has no `connector`: the name to run it by", "")
	}
	c.checkParams()
	c.checkSecrets()
	c.checkProvider()
	if len(c.doc.Streams) == 0 {
		c.fail(file, "the file has no `streams`", "")
	}
	c.spec.throttle = c.rules(c.doc.Provider.Throttle, collection.Throttle)
	for _, e := range c.doc.Streams {
		c.name(e.key)
		c.spec.streams = append(c.spec.streams, c.stream(e.key, e.value))
		c.route(e.key.text, e.value)
	}
	if len(c.faults) == 0 {
		c.parentsFirst()
	}
}

// What may stand where a word is chosen from some.
var (
	paramTypes = [...]string{"string", "int", "number", "bool", "date"}
	forbidden  = [...]string{string(collection.Freeze), string(collection.Hold), string(collection.GapRecord)}
	roles      = [...]string{string(collection.List), string(collection.Detail)}
	orders     = [...]string{"none", "asc"}
	lastPages  = [...]string{"short"}
	formats    = [...]string{asRFC3339, asDate, asUnix, asUnixMilli}
)

func (c *checker) checkParams() {
	c.params.where = "here"
	for _, e := range c.doc.Params {
		c.name(e.key)
		p := Param{
			Name: e.key.text, Type: e.value.Type.text, Required: e.value.Required.value,
			Default: e.value.Default.text, About: e.value.About.text,
		}
		if !e.value.Type.set {
			p.Type = "string"
		}
		if !slices.Contains(paramTypes[:], p.Type) {
			c.fail(e.value.Type.at, fmt.Sprintf("unknown type `%s`", p.Type), "one of "+strings.Join(paramTypes[:], ", "))
		} else if problem := p.problem(p.Default); p.Default != "" && problem != "" {
			c.fail(e.value.Default.at, "the default "+problem, "")
		}
		c.spec.params = append(c.spec.params, p)
		c.params.names = append(c.params.names, "params."+p.Name)
	}
}

// problem says why value is not one of the parameter; "" if it is.
func (p Param) problem(value string) string {
	var err error
	switch p.Type {
	case "int":
		if _, err = strconv.ParseInt(value, 10, 64); err != nil {
			return "is not a whole number"
		}
	case "number":
		if _, ok := newDecimal(value); !ok {
			return "is not a number"
		}
	case "bool":
		if value != "true" && value != "false" {
			return "is neither true nor false"
		}
	case "date":
		if _, _, ok := parseTime(value); !ok {
			return "is not a date such as 2024-01-31, or a time such as 2024-01-31T12:00:00Z"
		}
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "contains a control character"
	}
	return ""
}

func (c *checker) checkSecrets() {
	for _, e := range c.doc.Secrets {
		c.name(e.key)
		s := Secret{Name: e.key.text, Env: e.value.Env.text, File: e.value.File.text, Command: e.value.Command.text, Optional: e.value.Optional.value, Rotate: e.value.Rotate.value}
		given := 0
		for _, source := range []string{s.Env, s.File, s.Command} {
			if source != "" {
				given++
			}
		}
		if name, ok := strings.CutPrefix(s.Env, "$"); ok {
			f := fault{at: e.value.Env.at, message: "an environment variable is named without its `$`"}
			f.note = "env: " + strings.Trim(name, "{}")
			c.faults = append(c.faults, f)
		}
		switch {
		case e.value.Keyring.set:
			c.fail(e.value.Keyring.at, "keyring: not yet supported", "use env, file or command")
		case given != 1:
			c.fail(e.key.at, fmt.Sprintf("the secret `%s` needs one of env, file and command", s.Name), "")
		}
		c.spec.secrets = append(c.spec.secrets, s)
	}
	c.checkRotated()
}

func (c *checker) checkProvider() {
	spec := c.doc.Provider
	p := &c.spec.provider
	p.Name = spec.Name.text
	if p.Name == "" {
		p.Name = c.spec.name
	}
	c.spec.baseURL, c.spec.origins = spec.BaseURL, spec.Origins
	c.template(spec.BaseURL, c.params)
	switch {
	case !spec.BaseURL.set || spec.BaseURL.text == "":
		c.fail(span{line: 1, column: 1, length: 1}, "provider has no `base_url`", "")
	case !spec.BaseURL.refers("params."):
		if _, err := baseAddress(spec.BaseURL.text); err != nil {
			c.fail(spec.BaseURL.at, "base_url "+err.Error(), "")
		}
	}
	for _, o := range spec.Origins {
		c.template(o, c.params)
		if _, err := baseAddress(o.text); err != nil && !o.refers("params.") {
			c.fail(o.at, "an origin "+err.Error(), "")
		}
	}
	c.checkAuth(spec.Auth)
	c.checkPace(spec, p)
	c.oneOf(spec.On403, forbidden[:]...)
	p.Forbidden = collection.ForbiddenPolicy(spec.On403.text)
	l := spec.Limits
	p.Limits = collection.Limits{
		Request: l.RequestTimeout.value, Header: l.HeaderTimeout.value,
		Body: l.Body.value, Record: l.Record.value, Headers: l.Headers.value, Cursor: int(l.Cursor.value),
		PagesWithout: l.PagesWithoutNew.value, Attempts: l.Attempts.value, LongestWait: l.LongestRetryWait.value,
	}
}

// checkAuth sees to it that a credential comes from a secret, always.
func (c *checker) checkAuth(spec *authSpec) {
	if spec == nil || spec.None.value {
		return
	}
	var secrets []string
	for _, s := range c.spec.secrets {
		secrets = append(secrets, "secrets."+s.Name)
	}
	var used []template
	ways := 0
	if spec.Bearer.set {
		ways++
		used = append(used, spec.Bearer)
	}
	if spec.Basic != nil {
		ways++
		used = append(used, spec.Basic.User, spec.Basic.Password)
	}
	if k := spec.APIKey; k != nil {
		ways++
		used = append(used, k.Value)
		if (k.Header.text == "") == (k.Query.text == "") {
			c.fail(k.At, "an API key needs one of header and query: the name it is sent under", "")
		}
		if k.Header.set && !isToken(k.Header.text) {
			c.fail(k.Header.at, "not the name of a header", "")
		}
	}
	if spec.OAuth2 != nil {
		ways++
		used = append(used, c.checkOAuth2(spec.OAuth2)...)
	}
	secret, before := false, len(c.faults)
	for _, t := range used {
		c.secretTemplate(t, secrets)
		secret = secret || t.refers("secrets.")
	}
	switch {
	case ways != 1:
		c.fail(spec.At, "auth needs one of none, bearer, basic, api_key and oauth2", "")
	case !secret && spec.OAuth2 == nil &&
		(slices.ContainsFunc(used, template.writes) || len(c.faults) == before): // else it is the unknown name that was said
		c.writtenCredential(written(used))
	default:
		c.spec.auth = spec
	}
	c.checkProbe(spec.Probe)
}

// secretForm is how a credential gets into a request.
const secretForm = "declare it under `secrets` and refer to it as ${secrets.name}"

func (c *checker) writtenCredential(at span) {
	f := fault{at: at, message: "a credential is never written into a connector file", hide: true}
	f.note = secretForm
	c.faults = append(c.faults, f)
}

// written returns the place of the first template that has a text.
func written(used []template) span {
	for _, t := range used {
		if t.text != "" {
			return t.at
		}
	}
	return used[0].at
}

func (c *checker) secretTemplate(t template, secrets []string) {
	for _, p := range t.parts {
		if p.name == "" || slices.Contains(secrets, p.name) || slices.Contains(c.params.names, p.name) {
			continue
		}
		f := fault{at: t.inside(p.offset, max(1, len(p.name))), message: fmt.Sprintf("unknown name `%s`", p.name), label: "not known here"}
		f.note = secretForm
		if near := similar(p.name, append(slices.Clone(secrets), c.params.names...)); near != "" {
			f.note = fmt.Sprintf("there is a similar name: `%s`", near)
		}
		c.faults = append(c.faults, f)
	}
}

func (c *checker) oneOf(s scalar, allowed ...string) {
	if s.set && !slices.Contains(allowed, s.text) {
		c.fail(s.at, fmt.Sprintf("unknown value `%s`", s.text), "one of "+strings.Join(allowed, ", "))
	}
}

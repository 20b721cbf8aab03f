package language

import (
	"reflect"
	"strings"
	"unicode"

	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/since"
	"collect/connectors/declarative/internal/windows"
	"collect/connectors/signing"
	"collect/internal/yamlfile"
)

// What the blocks of the language ask for beyond the types of their fields.
// The checker asks for the same with a message for each; the tests hold the
// two together.

func (*Document) Refine(k yamlfile.Keywords) {
	k.Need("connector", "provider", "streams")
	for _, named := range []string{"params", "secrets", "streams"} {
		k.Property(named)["propertyNames"] = yamlfile.Keywords{"pattern": names().String()}
	}
	k.Property("streams")["minProperties"] = 1
	k.Property("streams")["type"] = "object"

	// A stream has a key, and a list pages, or the defaults have.
	key := yamlfile.Keywords{"required": []string{"key"}}
	page := yamlfile.AnyOf(yamlfile.Given("page"), oneRecord())
	detail := yamlfile.Keywords{"required": []string{"role"}, "properties": yamlfile.Keywords{"role": yamlfile.Keywords{"const": "detail"}}}
	k.And(yamlfile.AnyOf(yamlfile.In("defaults", key), yamlfile.InEach("streams", key)))
	k.And(yamlfile.AnyOf(yamlfile.In("defaults", page), yamlfile.InEach("streams", yamlfile.AnyOf(page, detail))))
}

func (*paramSpec) Refine(k yamlfile.Keywords) {
	k.Set("type", yamlfile.OneOf(ParamTypes[:]...))
}

func (*secretSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k["oneOf"] = []yamlfile.Keywords{yamlfile.Given("env"), yamlfile.Given("file"), yamlfile.Given("keyring"), yamlfile.Given("command")}
	dollar := yamlfile.Keywords{"type": "string", "pattern": `^\$`}
	k.And(yamlfile.Not(yamlfile.With("env", dollar)))
	k.And(yamlfile.Not(yamlfile.With("env", yamlfile.Keywords{"type": "array", "contains": dollar})))
	k.And(yamlfile.AnyOf(yamlfile.Not(yamlfile.With("rotate", yamlfile.OneOf("true"))), yamlfile.Given("file")))
}

func (*ProviderSpec) Refine(k yamlfile.Keywords) {
	k.Need("base_url")
	k.Set("base_url", address())
	k.Property("origins")["items"] = address()
	k.Set("headers", headerFields(k.Property("headers")))
	k.Set("start_per_second", yamlfile.NumberFrom(1/Slowest.Seconds()))
	k.Set("pace", yamlfile.OneOf(Paces[:]...))
	k.Set("law", yamlfile.OneOf(laws[:]...))
	k.Set("on_403", yamlfile.OneOf(Forbidden[:]...))
	k.Set("turns", yamlfile.OneOf(Turns[:]...))
	k.And(yamlfile.Not(yamlfile.Keywords{"required": []string{"law", "pace"}, "properties": yamlfile.Keywords{"pace": yamlfile.OneOf("off", "false")}}))
	rule := k.Property("throttle")["items"].(yamlfile.Keywords)
	k.Property("throttle")["items"] = yamlfile.Keywords{"allOf": []yamlfile.Keywords{rule, yamlfile.Not(yamlfile.Keywords{"required": []string{"verdict"}})}}
}

// A credential is never written into a connector file.
func (*AuthSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Set("bearer", fromSecret())
	k.And(yamlfile.AnyOf(
		yamlfile.Keywords{"required": []string{"none"}, "properties": yamlfile.Keywords{"none": yamlfile.OneOf("true")}},
		yamlfile.Keywords{"oneOf": []yamlfile.Keywords{yamlfile.Given("bearer"), yamlfile.Given("basic"), yamlfile.Given("api_key"), yamlfile.Given("oauth2"), yamlfile.Given("session"), yamlfile.Given("jwt"), yamlfile.Given("hmac"), yamlfile.Given("aws")}},
	))
}

// Each part is a secret, and a certificate has its key.
func (*TLSSpec) Refine(k yamlfile.Keywords) {
	for _, part := range []string{"certificate", "key", "ca"} {
		k.Set(part, alone())
	}
	certificate, key := yamlfile.Given("certificate"), yamlfile.Given("key")
	k.And(yamlfile.AnyOf(yamlfile.Keywords{"allOf": []yamlfile.Keywords{certificate, key}}, yamlfile.Keywords{"allOf": []yamlfile.Keywords{yamlfile.Given("ca"), yamlfile.Not(certificate), yamlfile.Not(key)}}))
}

func (*ProbeSpec) Refine(k yamlfile.Keywords) {
	k.Need("get")
	k.Set("get", belowBase())
	k.Set("when", predicateText())
}

func (*basicSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.And(yamlfile.AnyOf(yamlfile.With("user", fromSecret()), yamlfile.With("password", fromSecret())))
}

func (*APIKeySpec) Refine(k yamlfile.Keywords) {
	k.Need("value")
	k.Set("value", fromSecret())
	k.Set("header", yamlfile.Keywords{"type": yamlfile.Single(), "pattern": headerName})
	k.Set("cookie", yamlfile.Keywords{"type": yamlfile.Single(), "pattern": headerName})
	k["oneOf"] = []yamlfile.Keywords{yamlfile.Given("header"), yamlfile.Given("query"), yamlfile.Given("cookie")}
}

func (*JWTSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Need("key")
	k.Set("key", fromSecret())
	k.Set("algorithm", yamlfile.OneOf(signing.Algorithms[:]...))
	claims := k.Property("claims")
	claims["propertyNames"] = yamlfile.Keywords{"allOf": []any{claims["propertyNames"], yamlfile.Not(yamlfile.OneOf("iat", "exp"))}}
}

func (*HMACSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Need("recipe", "key", "secret")
	k.Set("recipe", yamlfile.OneOf(signing.Recipes[:]...))
	k.Set("key", yamlfile.NonEmpty(k.Property("key")))
	k.Set("secret", fromSecret())
	k.Set("passphrase", fromSecret())
}

func (*AWSSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Need("access_key", "secret_key", "region", "service")
	for _, name := range []string{"access_key", "region", "service"} {
		k.Set(name, yamlfile.NonEmpty(k.Property(name)))
	}
	k.Set("secret_key", fromSecret())
	k.Set("session_token", fromSecret())
}

func (*Oauth2Spec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Need("token_url")
	k.Set("token_url", address())
	k.Set("client_id", yamlfile.NonEmpty(k.Property("client_id")))
	k.Set("refresh_token", alone())
	k.Set("client_secret", fromSecret())
	k.Set("client_auth", yamlfile.OneOf(ClientAuths[:]...))
	k.Set("scope", plain())
	k.Set("device_url", address())
	k.Set("revoke_url", address())
	k.Set("authorize_url", yamlfile.Keywords{"type": "string", "allOf": []yamlfile.Keywords{plain(), yamlfile.AnyOf(
		yamlfile.Keywords{"pattern": `^` + folded("http") + `[Ss]?://[^/?#@\s]+([/?][^#]*)?$`}, yamlfile.Keywords{"pattern": `\$\{\s*params\.`},
	)}})
	k.Set("redirect", yamlfile.Keywords{"type": "string", "pattern": Redirects})
	k.Set("pkce", yamlfile.OneOf(PKCEs[:]...))
	for _, way := range []string{"authorize_url", "device_url", "revoke_url"} {
		k.And(yamlfile.AnyOf(yamlfile.Not(yamlfile.Given(way)), yamlfile.Given("refresh_token")))
	}
	further := fields(k.Property("fields"))
	further["propertyNames"] = yamlfile.Keywords{"allOf": []any{further["propertyNames"], yamlfile.Not(yamlfile.OneOf(OwnFields[:]...))}}
	k.Set("fields", further)
	k["anyOf"] = []yamlfile.Keywords{yamlfile.Given("client_secret"), yamlfile.Given("refresh_token"), yamlfile.Given("assertion")}
	k.And(yamlfile.AnyOf(yamlfile.Given("client_id"), yamlfile.Given("assertion")))
	k.And(yamlfile.Not(yamlfile.Keywords{"allOf": []yamlfile.Keywords{yamlfile.Given("assertion"), yamlfile.Given("refresh_token")}}))
}

func (*SessionSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Need("post")
	k.Set("post", yamlfile.NonEmpty(plain()))
	for _, name := range []string{"header", "cookie"} {
		k.Set(name, yamlfile.Keywords{"type": yamlfile.Single(), "pattern": headerName})
	}
	k["oneOf"] = []yamlfile.Keywords{yamlfile.Given("token"), yamlfile.Given("header"), yamlfile.Given("cookie")}
	body := yamlfile.With("json", yamlfile.Not(yamlfile.Keywords{"type": "null"}))
	form := yamlfile.With("form", yamlfile.Keywords{"type": "object", "minProperties": 1})
	k.And(yamlfile.Keywords{"oneOf": []yamlfile.Keywords{body, form}})
	k.And(yamlfile.AnyOf(yamlfile.Not(yamlfile.With("send", yamlfile.OneOf(SendCookie))), yamlfile.Given("cookie")))
}

func (*SendSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	for _, name := range []string{"header", "cookie"} {
		k.Set(name, yamlfile.Keywords{"type": yamlfile.Single(), "pattern": headerName})
	}
	k["oneOf"] = []yamlfile.Keywords{yamlfile.Given("header"), yamlfile.Given("cookie")}
}

func (*CeilingSpec) Refine(k yamlfile.Keywords) {
	k.Set("per_second", yamlfile.NumberFrom(1/Slowest.Seconds()))
}

func (*concurrencySpec) Refine(k yamlfile.Keywords) {
	k.Set("max", yamlfile.Whole(1, mostInFlight))
	k.Set("law", yamlfile.OneOf(flightLaws[:]...))
	k["dependencies"] = yamlfile.Keywords{"law": []string{"max"}}
}

func (*clampSpec) Refine(k yamlfile.Keywords) {
	k.Set("step", yamlfile.Text(`^\+?0*[1-9][0-9]?(\.[0-9]*)?\s*%$`)) // 1% at least
}

func (*defaultsSpec) Refine(k yamlfile.Keywords) {
	k.Set("headers", headerFields(k.Property("headers")))
	k.Set("on", verdictRules(k.Property("on")))
}

func (*StreamSpec) Refine(k yamlfile.Keywords) {
	requested(k)
	k.Set("role", yamlfile.OneOf(Roles[:]...))
	k.Set("weight", yamlfile.AnyOf(
		yamlfile.Keywords{"type": "number", "exclusiveMinimum": 0, "maximum": Heaviest},
		yamlfile.Text(`^\+?0*[0-9]{1,4}(\.[0-9]*)?$`, `[1-9]`),
	))
	k.Set("on", verdictRules(k.Property("on")))
	k.Set("each", bindings())
	cut := yamlfile.With("page", yamlfile.Keywords{"type": "object", "not": yamlfile.With("none", yamlfile.OneOf("true"))})
	k.And(yamlfile.Not(yamlfile.Keywords{"allOf": []yamlfile.Keywords{oneRecord(), cut}}))
	k.And(yamlfile.Not(yamlfile.Keywords{"required": []string{"since", "windows"}}))
	k.And(yamlfile.Keywords{
		"if":   yamlfile.Keywords{"required": []string{"role"}, "properties": yamlfile.Keywords{"role": yamlfile.Keywords{"const": "detail"}}},
		"then": yamlfile.With("each", yamlfile.Keywords{"type": "object", "minProperties": 1}),
	})
}

func (*SourceSpec) Refine(k yamlfile.Keywords) {
	k.Need("header")
	k.Set("header", yamlfile.NonEmpty(yamlfile.Keywords{"type": yamlfile.Single()}))
}

func (*FormatSpec) Refine(k yamlfile.Keywords) {
	k.Set("as", yamlfile.OneOf(Formats[:]...))
	k.Set("separator", yamlfile.AnyOf(
		yamlfile.Keywords{"type": "string", "pattern": `^([^"\r\n]|tab)$`},
		yamlfile.Keywords{"type": "integer", "minimum": 0, "maximum": 9},
	))
	csv := yamlfile.With("as", yamlfile.Keywords{"const": "csv"})
	k["dependencies"] = yamlfile.Keywords{"separator": csv, "skip": csv}
}

func (*ArchiveSpec) Refine(k yamlfile.Keywords) {
	k.Need("as")
	k["type"] = []string{"object", "null"}
	k.Set("as", yamlfile.OneOf(Archives[:]...))
	k["dependencies"] = yamlfile.Keywords{"entry": yamlfile.With("as", yamlfile.Keywords{"const": "zip"})}
}

func (*RecordsSpec) Refine(k yamlfile.Keywords) {
	field := yamlfile.NonEmpty(yamlfile.Keywords{"type": yamlfile.Single()})
	k.Set("at", yamlfile.AnyOf((&notation.Path{}).Shape(nil), yamlfile.Keywords{"type": "null"}))
	k.Set("map", field)
	k.Set("value", field)
	columns, named := yamlfile.Given("columns"), yamlfile.AnyOf(yamlfile.Given("map"), yamlfile.Given("value"))
	one := yamlfile.With("one", yamlfile.OneOf("true"))
	for _, pair := range [][2]yamlfile.Keywords{{one, columns}, {one, named}, {columns, named}} {
		k.And(yamlfile.Not(yamlfile.Keywords{"type": "object", "allOf": pair[:]}))
	}
}

// oneRecord holds for a stream, and for defaults, whose records are one object.
func oneRecord() yamlfile.Keywords {
	return yamlfile.In("records", yamlfile.With("one", yamlfile.OneOf("true")))
}

// requested is what holds for a request: it has one method, and at most one body,
// for a method that has any.
func requested(k yamlfile.Keywords) {
	k["type"] = "object"
	var methods, bodies []yamlfile.Keywords
	for _, method := range []string{"get", "post", "put"} {
		k.Set(method, plain())
		methods = append(methods, yamlfile.Given(method))
	}
	k["oneOf"] = methods
	k.Set("headers", headerFields(k.Property("headers")))
	for _, body := range []string{"json", "graphql"} {
		bodies = append(bodies, yamlfile.With(body, yamlfile.Not(yamlfile.Keywords{"type": "null"})))
	}
	bodies = append(bodies, yamlfile.With("form", yamlfile.Keywords{"type": "object", "minProperties": 1}))
	k.And(yamlfile.AnyOf(yamlfile.Not(yamlfile.AnyOf(bodies...)), yamlfile.Keywords{"oneOf": bodies, "anyOf": methods[1:]}))
}

func (*GraphQLSpec) Refine(k yamlfile.Keywords) {
	k.Need("query")
	k.Set("query", yamlfile.Keywords{"type": yamlfile.Single(), "allOf": []yamlfile.Keywords{
		yamlfile.Not(yamlfile.Keywords{"enum": []any{"", nil}}), yamlfile.Not(yamlfile.Keywords{"type": "string", "pattern": `\$\{`}),
	}})
}

func (*SinceSpec) Refine(k yamlfile.Keywords) {
	k.Need("field")
	k.Set("param", yamlfile.NonEmpty(yamlfile.Keywords{"type": yamlfile.Single()}))
	k.Set("start", plain())
	k.Set("order", yamlfile.OneOf(Orders[:]...))
	k.Set("format", yamlfile.OneOf(since.Formats[:]...))
	k.And(yamlfile.AnyOf(yamlfile.With("order", yamlfile.Keywords{"const": "asc"}), yamlfile.Keywords{"required": []string{"lookback"}}))
}

func (*ExpectSpec) Refine(k yamlfile.Keywords) {
	k.Set("records", yamlfile.Text(AtLeast().String()))
	k.Set("drop", yamlfile.Text(Share().String()))
	k.Set("zero", yamlfile.OneOf(ZeroError, Off))
	k.Property("fields")["additionalProperties"] = yamlfile.OneOf(Kinds[:]...)
}

func (*WindowsSpec) Refine(k yamlfile.Keywords) {
	k.Need("from", "step", "lookback")
	k.Set("from", plain())
	k.Set("until", plain())
	k.Set("format", yamlfile.OneOf(windows.Formats[:]...))
}

func (*pageSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	ways := []yamlfile.Keywords{{"required": []string{"none"}, "properties": yamlfile.Keywords{"none": yamlfile.OneOf("true")}}}
	for _, way := range []string{"link_header", "next_url", "cursor", "continue", "relay", "number", "offset", "last_id", "delta", "scroll"} {
		ways = append(ways, yamlfile.Given(way))
	}
	k["oneOf"] = ways
	k.Set("link_header", yamlfile.NonEmpty(yamlfile.Keywords{"type": yamlfile.Single(), "not": yamlfile.OneOf("true", "false")}))
}

func (*nextURLSpec) Refine(k yamlfile.Keywords) {
	k["oneOf"] = []yamlfile.Keywords{yamlfile.Given("path"), yamlfile.Given("header")}
}

func (*CursorSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Set("header", yamlfile.Keywords{"type": []string{"string", "number", "boolean"}, "pattern": headerName})
	k["oneOf"] = []yamlfile.Keywords{{"required": []string{"from"}}, {"required": []string{"header"}}}
}

func (*JobSpec) Refine(k yamlfile.Keywords) {
	requested(k)
	k.Need("id", "poll", "done")
	k.Set("done", predicateText())
	k.Set("failed", predicateText())
}

func (*PollSpec) Refine(k yamlfile.Keywords) { requested(k) }

func (*ScrollSpec) Refine(k yamlfile.Keywords) {
	k.Need("from", "post")
	k.Set("post", plain())
}

func (*ContinueSpec) Refine(k yamlfile.Keywords) { k.Need("from") }

func (*numberSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Set("last_page", yamlfile.OneOf(LastPages[:]...))
	k["dependencies"] = yamlfile.Keywords{"size_param": []string{"size"}}
}

func (*offsetSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Set("last_page", yamlfile.OneOf(LastPages[:]...))
	k["dependencies"] = yamlfile.Keywords{"limit_param": []string{"limit"}}
}

func (*DeltaSpec) Refine(k yamlfile.Keywords) {
	k.Need("resume")
	k["dependencies"] = yamlfile.Keywords{"resume_param": []string{"param"}}
}

func (*lastIDSpec) Refine(k yamlfile.Keywords) { k.Need("field") }

func (*RuleSpec) Refine(k yamlfile.Keywords) {
	k["type"] = "object"
	k.Property("status")["items"] = yamlfile.Whole(100, 599)
	k.Set("body", predicateText())
	words := make([]string, len(Verdicts))
	for i, v := range Verdicts {
		words[i] = string(v)
	}
	k.Set("verdict", yamlfile.OneOf(words...))
	k.And(yamlfile.AnyOf(
		yamlfile.With("status", yamlfile.Keywords{"minItems": 1}),
		yamlfile.With("header", yamlfile.Keywords{"type": "object", "minProperties": 1}),
		yamlfile.Keywords{"required": []string{"body"}},
	))
}

func (*headerSpec) Refine(k yamlfile.Keywords) { k.Set("when", predicateText()) }

// plain is a template that refers to no secret: those stand in auth only.
func plain() yamlfile.Keywords {
	return yamlfile.Keywords{"type": yamlfile.Single(), "allOf": []yamlfile.Keywords{
		yamlfile.Not(notation.Unended()), yamlfile.Not(yamlfile.Keywords{"type": "string", "pattern": `\$\{\s*secrets\.`}),
	}}
}

// fromSecret is a template that refers to a secret.
func fromSecret() yamlfile.Keywords {
	return yamlfile.Keywords{"type": "string", "pattern": `\$\{\s*secrets\.[^}]*\}`, "not": notation.Unended()}
}

// alone is a template that is one secret, as it is.
func alone() yamlfile.Keywords {
	return yamlfile.Keywords{"type": "string", "pattern": `^\$\{\s*secrets\.[^}]*\}$`}
}

// address is the address of a server, or a template of one.
func address() yamlfile.Keywords {
	web := `^` + folded("http") + `[Ss]?://`
	return yamlfile.Keywords{"type": "string", "allOf": []yamlfile.Keywords{plain(), yamlfile.AnyOf(
		yamlfile.Keywords{"pattern": web + `[^/?#@\s]+(/[^?#]*)?$`}, yamlfile.Keywords{"pattern": `\$\{\s*params\.`},
	)}}
}

// belowBase is a path below the address of a server, or a template of one.
func belowBase() yamlfile.Keywords {
	whole := yamlfile.Keywords{"type": "string", "pattern": `^` + folded("http") + `[Ss]?://`}
	return yamlfile.Keywords{"allOf": []yamlfile.Keywords{yamlfile.NonEmpty(plain()), yamlfile.Not(whole)}}
}

func predicateText() yamlfile.Keywords {
	return yamlfile.Keywords{"type": []string{"string", "boolean"}}
}

// fields are parameters of a query: templates by their names.
func fields(k yamlfile.Keywords) yamlfile.Keywords {
	k["additionalProperties"] = plain()
	return k
}

// headerName matches what isToken accepts.
const headerName = `^[!#$%&'*+\-.^_` + "`" + `|~0-9A-Za-z]+$`

// headerFields are headers: templates by their names. Some names are reserved for the
// client.
func headerFields(k yamlfile.Keywords) yamlfile.Keywords {
	ours := make([]string, len(Reserved))
	for i, name := range Reserved {
		ours[i] = folded(name)
	}
	k["additionalProperties"] = yamlfile.Keywords{"allOf": []yamlfile.Keywords{
		plain(), yamlfile.Not(yamlfile.Keywords{"type": "string", "pattern": `[\x00-\x08\x0a-\x1f\x7f]`}), // see request.Unsendable
	}}
	k["propertyNames"] = yamlfile.Keywords{"allOf": []yamlfile.Keywords{
		{"pattern": headerName}, yamlfile.Not(yamlfile.Keywords{"pattern": `^(` + strings.Join(ours, "|") + `)$`}),
	}}
	return k
}

// verdictRules are rules that must each say a verdict.
func verdictRules(k yamlfile.Keywords) yamlfile.Keywords {
	k["items"] = yamlfile.Keywords{"allOf": []yamlfile.Keywords{k["items"].(yamlfile.Keywords), {"required": []string{"verdict"}}}}
	return k
}

// bindings are what `each` holds: names for fields of a parent, and two keys
// with a meaning of their own.
func bindings() yamlfile.Keywords {
	field := yamlfile.Text(`^` + notation.Step + `(\.` + notation.Step + `)+\\?$`)
	return yamlfile.Keywords{
		"type":                 []string{"object", "null"},
		"properties":           yamlfile.Keywords{"when": predicateText()},
		"additionalProperties": field,
		"propertyNames":        yamlfile.Keywords{"pattern": names().String(), "not": yamlfile.Keywords{"enum": Unbindable}},
		"anyOf": []yamlfile.Keywords{
			{"maxProperties": 0},
			{"not": yamlfile.Keywords{"propertyNames": yamlfile.Keywords{"enum": []string{"when", "changed"}}}},
		},
	}
}

// folded is a pattern for word in any mixture of cases: editors have no flag
// for that.
func folded(word string) string {
	var b strings.Builder
	for _, r := range word {
		if upper, lower := unicode.ToUpper(r), unicode.ToLower(r); upper != lower {
			b.WriteString("[" + string(upper) + string(lower) + "]")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// What the leaves of the language read.

func (*name) Shape(yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.Keywords{"type": []string{"string", "boolean"}, "pattern": names().String()} // true is a name, too
}

func (*RecordsSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(s.Of(reflect.TypeFor[notation.Path]()), s.Block(reflect.TypeFor[RecordsSpec]()))
}

func (*FormatSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(yamlfile.OneOf(Formats[:]...), s.Block(reflect.TypeFor[FormatSpec]()))
}

func (*ArchiveSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(yamlfile.OneOf(Archives[:]...), s.Block(reflect.TypeFor[ArchiveSpec]()))
}

func (*ColumnsSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	name := yamlfile.NonEmpty(yamlfile.Keywords{"type": yamlfile.Single()})
	return yamlfile.AnyOf(s.Of(reflect.TypeFor[notation.Path]()), yamlfile.Keywords{"type": "null"},
		yamlfile.Keywords{"type": "array", "items": name, "minItems": 1, "uniqueItems": true})
}

func (k *keySpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	one := s.Of(reflect.TypeFor[notation.Path]())
	return yamlfile.AnyOf(one, yamlfile.Keywords{"type": "array", "items": one, "minItems": 1})
}

func (*apiKeys) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	one := s.Of(reflect.TypeFor[APIKeySpec]())
	return yamlfile.AnyOf(one, yamlfile.Keywords{"type": "array", "items": one, "minItems": 1})
}

func (c *clampSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(yamlfile.Keywords{"enum": []any{"off", false}}, s.Block(reflect.TypeFor[clampSpec]()))
}

func (a *AuthSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(yamlfile.Keywords{"const": "none"}, s.Block(reflect.TypeFor[AuthSpec]()))
}

func (*SourceSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(s.Of(reflect.TypeFor[notation.Path]()), s.Block(reflect.TypeFor[SourceSpec]()))
}

func (n *nextURLSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(s.Of(reflect.TypeFor[notation.Path]()), s.Block(reflect.TypeFor[nextURLSpec]()))
}

func (p *PollSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(plain(), s.Block(reflect.TypeFor[PollSpec]()))
}

func (p *ProbeSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(belowBase(), s.Block(reflect.TypeFor[ProbeSpec]()))
}

func (*SendSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(yamlfile.OneOf(Sends[:]...), s.Block(reflect.TypeFor[SendSpec]()))
}

func (h *headerSpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.AnyOf(yamlfile.Keywords{"type": yamlfile.Single()}, s.Block(reflect.TypeFor[headerSpec]()))
}

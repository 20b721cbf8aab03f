package declarative

import (
	"strings"
	"unicode"
)

// What the blocks of the language ask for beyond the types of their fields.
// The checker asks for the same with a message for each; the tests hold the
// two together.

func (*document) refine(k keywords) {
	k.need("connector", "provider", "streams")
	for _, named := range []string{"params", "secrets", "streams"} {
		k.property(named)["propertyNames"] = keywords{"pattern": names.String()}
	}
	k.property("streams")["minProperties"] = 1
	k.property("streams")["type"] = "object"

	// A stream has a key, and a list pages, or the defaults have.
	key := keywords{"required": []string{"key"}}
	page := given("page")
	detail := keywords{"required": []string{"role"}, "properties": keywords{"role": keywords{"const": "detail"}}}
	k.and(anyOf(in("defaults", key), inEach("streams", key)))
	k.and(anyOf(in("defaults", page), inEach("streams", anyOf(page, detail))))
}

func (*paramSpec) refine(k keywords) {
	k.set("type", oneOf(paramTypes[:]...))
}

func (*secretSpec) refine(k keywords) {
	delete(k["properties"].(map[string]any), "keyring") // a key only for the sake of its message
	k["type"] = "object"
	k["oneOf"] = []keywords{given("env"), given("file"), given("command")}
	k.and(not(with("env", keywords{"type": "string", "pattern": `^\$`})))
	k.and(anyOf(not(with("rotate", oneOf("true"))), given("file")))
}

func (*providerSpec) refine(k keywords) {
	k.need("base_url")
	k.set("base_url", address())
	k.property("origins")["items"] = address()
	k.set("headers", headerFields(k.property("headers")))
	k.set("start_per_second", numberFrom(1/slowest.Seconds()))
	k.set("pace", oneOf(paces[:]...))
	k.set("law", oneOf(laws[:]...))
	k.set("on_403", oneOf(forbidden[:]...))
	k.and(not(keywords{"required": []string{"law", "pace"}, "properties": keywords{"pace": oneOf("off", "false")}}))
	rule := k.property("throttle")["items"].(keywords)
	k.property("throttle")["items"] = keywords{"allOf": []keywords{rule, not(keywords{"required": []string{"verdict"}})}}
}

// A credential is never written into a connector file.
func (*authSpec) refine(k keywords) {
	k["type"] = "object"
	k.set("bearer", fromSecret())
	k.and(anyOf(
		keywords{"required": []string{"none"}, "properties": keywords{"none": oneOf("true")}},
		keywords{"oneOf": []keywords{given("bearer"), given("basic"), given("api_key"), given("oauth2")}},
	))
}

func (*probeSpec) refine(k keywords) {
	k.need("get")
	k.set("get", belowBase())
	k.set("when", predicateText())
}

func (*basicSpec) refine(k keywords) {
	k["type"] = "object"
	k.and(anyOf(with("user", fromSecret()), with("password", fromSecret())))
}

func (*apiKeySpec) refine(k keywords) {
	k.need("value")
	k.set("value", fromSecret())
	k.set("header", keywords{"type": single(), "pattern": headerName})
	k["oneOf"] = []keywords{given("header"), given("query")}
}

func (*oauth2Spec) refine(k keywords) {
	k["type"] = "object"
	k.need("token_url", "client_id")
	k.set("token_url", address())
	k.set("client_id", nonEmpty(k.property("client_id")))
	k.set("refresh_token", keywords{"type": "string", "pattern": `^\$\{\s*secrets\.[^}]*\}$`})
	k.set("client_secret", fromSecret())
	k.set("client_auth", oneOf(clientAuths[:]...))
	k.set("scope", plain())
	further := fields(k.property("fields"))
	further["propertyNames"] = keywords{"allOf": []any{further["propertyNames"], not(oneOf(ownFields[:]...))}}
	k.set("fields", further)
	k["anyOf"] = []keywords{given("client_secret"), given("refresh_token")}
}

func (*ceilingSpec) refine(k keywords) {
	k.set("per_second", numberFrom(1/slowest.Seconds()))
}

func (*concurrencySpec) refine(k keywords) {
	k.set("max", whole(1, mostInFlight))
	k.set("law", oneOf(flightLaws[:]...))
	k["dependencies"] = keywords{"law": []string{"max"}}
}

func (*clampSpec) refine(k keywords) {
	k.set("step", text(`^\+?0*[1-9][0-9]?(\.[0-9]*)?\s*%$`)) // 1% at least
}

func (*defaultsSpec) refine(k keywords) {
	k.set("query", fields(k.property("query")))
	k.set("headers", headerFields(k.property("headers")))
	k.set("on", verdictRules(k.property("on")))
}

func (*streamSpec) refine(k keywords) {
	k.need("get")
	k.set("get", nonEmpty(plain()))
	k.set("query", fields(k.property("query")))
	k.set("headers", headerFields(k.property("headers")))
	k.set("role", oneOf(roles[:]...))
	k.set("weight", anyOf(
		keywords{"type": "number", "exclusiveMinimum": 0, "maximum": heaviest},
		text(`^\+?0*[0-9]{1,4}(\.[0-9]*)?$`, `[1-9]`),
	))
	k.set("on", verdictRules(k.property("on")))
	k.set("each", bindings())
	k.and(keywords{
		"if":   keywords{"required": []string{"role"}, "properties": keywords{"role": keywords{"const": "detail"}}},
		"then": with("each", keywords{"type": "object", "minProperties": 1}),
	})
}

func (*sinceSpec) refine(k keywords) {
	k.need("field")
	k.set("param", nonEmpty(keywords{"type": single()}))
	k.set("start", plain())
	k.set("order", oneOf(orders[:]...))
	k.set("format", oneOf(formats[:]...))
	k.and(anyOf(with("order", keywords{"const": "asc"}), keywords{"required": []string{"lookback"}}))
}

func (*pageSpec) refine(k keywords) {
	k["type"] = "object"
	ways := []keywords{{"required": []string{"none"}, "properties": keywords{"none": oneOf("true")}}}
	for _, way := range []string{"link_header", "next_url", "cursor", "number", "offset", "last_id"} {
		ways = append(ways, given(way))
	}
	k["oneOf"] = ways
	k.set("link_header", nonEmpty(keywords{"type": single()}))
}

func (*nextURLSpec) refine(k keywords) { k.need("path") }

func (*cursorSpec) refine(k keywords) {
	k.need("from", "param")
	k.set("param", nonEmpty(keywords{"type": single()}))
}

func (*numberSpec) refine(k keywords) {
	k.need("param")
	k.set("param", nonEmpty(keywords{"type": single()}))
	k.set("last_page", oneOf(lastPages[:]...))
	k["dependencies"] = keywords{"size_param": []string{"size"}}
}

func (*offsetSpec) refine(k keywords) {
	k.need("param")
	k.set("param", nonEmpty(keywords{"type": single()}))
	k.set("last_page", oneOf(lastPages[:]...))
	k["dependencies"] = keywords{"limit_param": []string{"limit"}}
}

func (*lastIDSpec) refine(k keywords) {
	k.need("param", "field")
	k.set("param", nonEmpty(keywords{"type": single()}))
}

func (*ruleSpec) refine(k keywords) {
	k["type"] = "object"
	k.property("status")["items"] = whole(100, 599)
	k.set("body", predicateText())
	words := make([]string, len(verdicts))
	for i, v := range verdicts {
		words[i] = string(v)
	}
	k.set("verdict", oneOf(words...))
	k.and(anyOf(
		with("status", keywords{"minItems": 1}),
		with("header", keywords{"type": "object", "minProperties": 1}),
		keywords{"required": []string{"body"}},
	))
}

func (*headerSpec) refine(k keywords) { k.set("when", predicateText()) }

// need says which keys a block cannot do without.
func (k keywords) need(keys ...string) {
	k["type"] = "object"
	k["required"] = keys
}

func (k keywords) property(key string) keywords {
	return k["properties"].(map[string]any)[key].(keywords)
}

func (k keywords) set(key string, value keywords) {
	k["properties"].(map[string]any)[key] = value
}

func (k keywords) and(more keywords) { k["allOf"] = append(list(k["allOf"]), more) }

func not(k keywords) keywords { return keywords{"not": k} }

// given holds for a mapping that has key, and something under it.
func given(key string) keywords { return with(key, not(keywords{"enum": []any{"", nil}})) }

// with holds for a mapping that has key, and under it what value says.
func with(key string, value keywords) keywords {
	return keywords{"required": []string{key}, "properties": keywords{key: value}}
}

// in holds for a mapping that has another under key, of which k holds.
func in(key string, k keywords) keywords {
	return with(key, keywords{"type": "object", "allOf": []keywords{k}})
}

// inEach holds if k holds for each value of the mapping under key.
func inEach(key string, k keywords) keywords {
	return keywords{"properties": keywords{key: keywords{"additionalProperties": k}}}
}

// nonEmpty is k without what is empty.
func nonEmpty(k keywords) keywords {
	return keywords{"allOf": []keywords{k, not(keywords{"enum": []any{"", nil}})}}
}

// plain is a template that refers to no secret: those stand in auth only.
func plain() keywords {
	return keywords{"type": single(), "allOf": []keywords{
		not(unended()), not(keywords{"type": "string", "pattern": `\$\{\s*secrets\.`}),
	}}
}

// fromSecret is a template that refers to a secret.
func fromSecret() keywords {
	return keywords{"type": "string", "pattern": `\$\{\s*secrets\.[^}]*\}`, "not": unended()}
}

// address is the address of a server, or a template of one.
func address() keywords {
	web := `^` + folded("http") + `[Ss]?://`
	return keywords{"type": "string", "allOf": []keywords{plain(), anyOf(
		keywords{"pattern": web + `[^/?#@\s]+(/[^?#]*)?$`}, keywords{"pattern": `\$\{\s*params\.`},
	)}}
}

// belowBase is a path below the address of a server, or a template of one.
func belowBase() keywords {
	whole := keywords{"type": "string", "pattern": `^` + folded("http") + `[Ss]?://`}
	return keywords{"allOf": []keywords{nonEmpty(plain()), not(whole)}}
}

func predicateText() keywords { return keywords{"type": []string{"string", "boolean"}} }

// fields are parameters of a query: templates by their names.
func fields(k keywords) keywords {
	k["additionalProperties"] = plain()
	return k
}

// headerName matches what isToken accepts.
const headerName = `^[!#$%&'*+\-.^_` + "`" + `|~0-9A-Za-z]+$`

// headerFields are headers: templates by their names, some of which are ours.
func headerFields(k keywords) keywords {
	ours := make([]string, len(reserved))
	for i, name := range reserved {
		ours[i] = folded(name)
	}
	k["additionalProperties"] = keywords{"allOf": []keywords{
		plain(), not(keywords{"type": "string", "pattern": `[\x00-\x08\x0a-\x1f\x7f]`}), // see unsendable
	}}
	k["propertyNames"] = keywords{"allOf": []keywords{
		{"pattern": headerName}, not(keywords{"pattern": `^(` + strings.Join(ours, "|") + `)$`}),
	}}
	return k
}

// verdictRules are rules of which each says its verdict.
func verdictRules(k keywords) keywords {
	k["items"] = keywords{"allOf": []keywords{k["items"].(keywords), {"required": []string{"verdict"}}}}
	return k
}

// bindings are what `each` holds: names for fields of a parent, and two keys
// with a meaning of their own.
func bindings() keywords {
	field := text(`^` + step + `(\.` + step + `)+\\?$`)
	return keywords{
		"type":                 []string{"object", "null"},
		"properties":           keywords{"when": predicateText()},
		"additionalProperties": field,
		"propertyNames":        keywords{"pattern": names.String(), "not": keywords{"enum": unbindable}},
		"anyOf": []keywords{
			{"maxProperties": 0},
			{"not": keywords{"propertyNames": keywords{"enum": []string{"when", "changed"}}}},
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

package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"collect/engine/author/internal/sketch"
	"collect/internal/yamlfile"
)

// auth says how requests are authenticated: by the first way that all operations
// may use and that has a translation.
func (d *drafter) auth() {
	var reasons []string
	for _, requirement := range d.requirements() {
		value, why, left := d.way(requirement)
		if left == "" {
			d.file.Auth, d.file.AuthWhy = value, why
			return
		}
		reasons = append(reasons, left)
	}
	if len(reasons) > 0 {
		d.file.Leave("the authentication: %s", strings.Join(reasons, "; "))
	}
}

func (d *drafter) schemes() object {
	if defined := asObject(d.root["securityDefinitions"]); len(defined) > 0 {
		return defined
	}
	return asObject(d.at(d.root["components"])["securitySchemes"])
}

// requirements returns the ways that are allowed, each with the names of what it
// needs; without a word of it, each of the schemes.
func (d *drafter) requirements() (ways [][]string) {
	for _, r := range list(d.root["security"]) {
		if names := slices.Sorted(maps.Keys(asObject(r))); len(names) > 0 {
			ways = append(ways, names)
		}
	}
	if len(ways) == 0 {
		for _, name := range slices.Sorted(maps.Keys(d.schemes())) {
			ways = append(ways, []string{name})
		}
	}
	return ways
}

// way translates what is needed together, or says why it cannot.
func (d *drafter) way(names []string) (value any, why, left string) {
	var keys []any
	for _, name := range names {
		s := d.at(d.schemes()[name])
		kind := text(s["type"])
		if kind == "apiKey" {
			secret := "key"
			if len(names) > 1 {
				secret = sketch.Name(name)
			}
			keys = append(keys, yamlfile.Map{{Key: text(s["in"]), Value: text(s["name"])}, {Key: "value", Value: d.file.Secret(secret)}})
			continue
		}
		if len(names) > 1 {
			return nil, "", fmt.Sprintf("%s needs several ways at once", strings.Join(names, " and "))
		}
		why = "the security scheme " + name
		switch scheme := strings.ToLower(text(s["scheme"])); {
		case kind == "http" && scheme == "bearer":
			return yamlfile.Map{{Key: "bearer", Value: d.file.Secret("token")}}, why, ""
		case kind == "basic" || kind == "http" && scheme == "basic":
			return yamlfile.Map{{Key: "basic", Value: yamlfile.Map{{Key: "user", Value: d.file.Secret("user")}, {Key: "password", Value: d.file.Secret("password")}}}}, why, ""
		case kind == "oauth2":
			return d.oauth2(s, why)
		}
		return nil, "", fmt.Sprintf("the security scheme %s (%s) has no translation", name, kind)
	}
	if len(keys) == 1 {
		return yamlfile.Map{{Key: "api_key", Value: keys[0]}}, "the security scheme " + names[0], ""
	}
	return yamlfile.Map{{Key: "api_key", Value: keys}}, "the security schemes " + strings.Join(names, " and "), ""
}

// oauth2 translates the flow in which the client asks for itself. For the others a
// person has to sign in: until that is written, a token is taken as it is.
func (d *drafter) oauth2(s object, why string) (any, string, string) {
	flow := asObject(asObject(s["flows"])["clientCredentials"])
	if text(s["flow"]) == "application" {
		flow = s
	}
	address := text(flow["tokenUrl"])
	if address == "" {
		return yamlfile.Map{{Key: "bearer", Value: d.file.Secret("token")}}, why + ", in which a person signs in: see `authorize_url` of oauth2, or give an access token", ""
	}
	block := yamlfile.Map{{Key: "token_url", Value: address}, {Key: "client_id", Value: d.file.Secret("client_id")}, {Key: "client_secret", Value: d.file.Secret("client_secret")}}
	if scopes := slices.Sorted(maps.Keys(asObject(flow["scopes"]))); len(scopes) > 0 {
		why += "; of its scopes: " + strings.Join(scopes, ", ")
	}
	return yamlfile.Map{{Key: "oauth2", Value: block}}, why, ""
}

// credential tells whether a parameter is the one that the authentication sends.
func (d *drafter) credential(name string) bool {
	for _, v := range d.schemes() {
		if s := d.at(v); text(s["type"]) == "apiKey" && text(s["name"]) == name {
			return true
		}
	}
	return false
}

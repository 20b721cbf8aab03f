package paging

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"collect/connectors/declarative/internal/notation"
	"collect/connectors/usual"
)

// holders are the objects of an envelope that say how a list goes on: those that
// may hold a total, and some more.
var holders = append(usual.Wrappers[1:len(usual.Wrappers):len(usual.Wrappers)], "links", "_links", "metadata", "page_info", "pageInfo", "response_metadata")

// SaysMore returns the name of a member of the envelope of a list that says that
// there is more; "" if none does.
func SaysMore(body []byte, records notation.Path) (name string) {
	if body == nil {
		return ""
	}
	inEnvelope(body, records, func(_ holder, key, value gjson.Result) bool {
		if value.Type == gjson.True && slices.Contains(usual.Mores, key.Str) {
			name = key.Str
		}
		return name == ""
	})
	return name
}

// LeadsOn returns the name of a member of the envelope of a list that leads to
// another page, or says that there is one; "" if there is none.
func LeadsOn(body []byte, records notation.Path) (name string) {
	inEnvelope(body, records, func(_ holder, key, value gjson.Result) bool {
		if leadingOn().MatchString(key.Str) && !leadingAway().MatchString(key.Str) && hasValue(value) {
			name = "…"
			if plainName().MatchString(key.Str) {
				name = key.Str
			}
		}
		return name == ""
	})
	return name
}

// A holder is an object of an envelope, and its path; "" is the body.
type holder struct {
	gjson.Result
	at    string
	pages bool // it says how the list goes on, and nothing else
}

// below returns the path of a member of h.
func (h holder) below(name string) string {
	return strings.TrimPrefix(h.at+"."+pathTo(name), ".")
}

// inEnvelope calls see with the members of the envelope of a list, and of the
// objects in it that say how it goes on, until it returns false. An envelope is the
// body, and the object that the list stands in.
func inEnvelope(body []byte, records notation.Path, see func(in holder, key, value gjson.Result) bool) {
	if !records.Set || body[0] != '{' {
		return
	}
	on := true
	look := func(object holder, list string) {
		object.ForEach(func(key, value gjson.Result) bool {
			switch {
			case key.Str == list:
			case slices.Contains(holders, key.Str) && value.IsObject():
				inner := holder{value, object.below(key.Str), true}
				value.ForEach(func(key, value gjson.Result) bool {
					on = see(inner, key, value)
					return on
				})
			default:
				on = see(object, key, value)
			}
			return on
		})
	}
	object, last := holder{Result: notation.Parse(body)}, len(records.Steps)-1
	look(object, records.Steps[0])
	for _, step := range records.Steps[:last] {
		object = holder{object.Get(gjson.Escape(step)), object.below(step), false}
	}
	if on && last > 0 && object.IsObject() {
		look(object, records.Steps[last])
	}
}

// SaysFailed returns the name of a member of the envelope of a list that says
// that something failed, and the predicate that holds for it; "" if none does.
// resource is whether the envelope has an id, as a resource has.
func SaysFailed(body []byte, records notation.Path) (name, rule string, resource bool) {
	if !records.Set || body[0] != '{' || !mayRefuse(body) {
		return "", "", false
	}
	notation.Parse(body).ForEach(func(key, value gjson.Result) bool {
		switch member := key.Str; {
		case member == records.Steps[0]:
		case member == "id":
			resource = true
		case name == "" || name == "status": // any other one says more
			if says := refuses(member, value); says != "" {
				name, rule = member, says
			}
		}
		return true
	})
	return name, rule, resource
}

// mayRefuse reports whether a body has any of the names that refuses knows, so
// that most pages are not parsed once more.
func mayRefuse(body []byte) bool {
	for _, name := range []string{`"error`, `"ok"`, `"success"`, `"status"`} {
		if bytes.Contains(body, []byte(name)) {
			return true
		}
	}
	return false
}

// refuses returns the predicate that holds for a member of an envelope which
// says that something failed; "" if it does not say so.
func refuses(name string, value gjson.Result) string {
	switch name {
	case "errors": // a number counts something, such as the rows of an import
		if value.Type != gjson.Number && hasValue(value) {
			return "body.errors != nil"
		}
	case "error":
		if hasValue(value) && !saysFine(value) {
			return "body.error != nil"
		}
	case "ok", "success":
		if value.Type == gjson.False {
			return "body." + name + " == false"
		}
	case "status":
		if value.Type == gjson.String && (strings.EqualFold(value.Str, "error") || strings.EqualFold(value.Str, "fail")) {
			return "body.status == \"" + value.Str + "\""
		}
	}
	return ""
}

// saysFine reports whether an error is none: {"error": "OK"} of Giant Bomb.
func saysFine(value gjson.Result) bool {
	switch strings.ToLower(value.String()) {
	case "ok", "success", "none", "null", "no error", "false", "0":
		return true
	}
	return false
}

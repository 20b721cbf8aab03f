package declarative

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
)

// refusal judges a page whose envelope says that something failed, although its
// status says that nothing did: GraphQL sends {"data": …, "errors": [{…}]} for
// what it could not find out, JSend {"status": "error", "message": "…"}, Slack
// {"ok": false, "error": "…"}. What is missing on such a page is told nowhere
// else.
//
// It is a bad page, unless a rule of the file accepts it. Two pages are whole,
// as far as can be told, and leave a warning: one that is a resource itself (it
// has an id), whose "status" or "error" are the resource's own and no matter of
// the request, and one with records beside a "status", a word of many meanings.
//
// Only an envelope is looked at. Where the file does not say where in the body
// the records are, the body holds records and nothing else, and in a record all
// of these are ordinary.
func (w *walk) refusal(resp *http.Response, p *page) (*collection.Warning, error) {
	if !w.st.records.set || p.body[0] != '{' || !mayRefuse(p.body) {
		return nil, nil
	}
	name, rule, resource := "", "", false
	parse(p.body).ForEach(func(key, value gjson.Result) bool {
		switch member := key.Str; {
		case member == w.st.records.steps[0]:
		case member == "id":
			resource = true
		case name == "" || name == "status": // any other one says more
			if says := refuses(member, value); says != "" {
				name, rule = member, says
			}
		}
		return true
	})
	if name == "" || w.c.judge(collection.Response{Stream: w.at.Stream, Status: resp.StatusCode, Header: resp.Header, Body: p.body}) != collection.NoVerdict {
		return nil, nil
	}
	said := fmt.Sprintf("the page says by `%s` that something failed, beside %d records; if it means nothing here: on: [{status: [%d], body: '%s', verdict: ok}]",
		name, len(p.elements), resp.StatusCode, rule)
	if resource || name == "status" && len(p.elements) > 0 {
		return &collection.Warning{Code: collection.RefusedBeside, Text: said}, nil
	}
	return nil, badPage("%s", said)
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

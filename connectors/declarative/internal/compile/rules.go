package compile

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
)

// The names that predicates of rules may use, with examples of their types.
var (
	bodyNames   = map[string]any{"body": map[string]any(nil), "text": "", "header": map[string]string{}, "status": 0}
	headerNames = map[string]any{"value": "", "status": 0}
)

// rules compiles specs. A verdict of its own is asked of each unless all have
// the one given.
func (c *checker) rules(specs []language.RuleSpec, all collection.Verdict) []rule {
	var rules []rule
	for _, spec := range specs {
		rules = append(rules, c.rule(spec, all))
	}
	return rules
}

func (c *checker) rule(spec language.RuleSpec, all collection.Verdict) rule {
	r := rule{verdict: all}
	place := spec.At
	for _, status := range spec.Status {
		if status.Value < 100 || status.Value > 599 {
			c.Fail(status.At, "this must be a status from 100 to 599", "")
		}
		r.status = append(r.status, status.Value)
	}
	for _, e := range spec.Header {
		test := headerTest{name: http.CanonicalHeaderKey(e.Key.Text), is: e.Value.Is.Text}
		if e.Value.When.Set {
			test.when = notation.PredicateOf(&c.Decoder, e.Value.When, headerNames)
		}
		r.headers = append(r.headers, test)
	}
	if spec.Body.Set {
		r.body = notation.PredicateOf(&c.Decoder, spec.Body, bodyNames)
	}
	switch {
	case len(r.status) == 0 && len(r.headers) == 0 && !spec.Body.Set:
		c.Fail(place, "a rule needs a condition: status, header or body", "")
	case all == "" && !spec.Verdict.Set:
		c.Fail(place, "a rule in `on` needs a verdict", "")
	case all != "" && spec.Verdict.Set:
		c.Fail(spec.Verdict.At, "a throttle rule has no verdict: it always means throttle", "")
	case all == "":
		r.verdict = collection.Verdict(spec.Verdict.Text)
		if !slices.Contains(language.Verdicts, r.verdict) {
			c.Fail(spec.Verdict.At, fmt.Sprintf("unknown verdict `%s`", spec.Verdict.Text), "one of ok, retry, throttle, gap, gone, stop, fail")
		}
	}
	return r
}

// Judge returns the verdict of the first rule that matches, or NoVerdict.
func Judge(rules []rule, resp collection.Response) collection.Verdict {
	view := View{Resp: resp}
	for _, r := range rules {
		if r.matches(&view) {
			return r.verdict
		}
	}
	return collection.NoVerdict
}

// matches tests the cheap conditions first: the body of a good page is only
// decoded if a rule for its status asks for it. A predicate that cannot be
// computed, such as on a body that is not JSON, does not hold.
func (r rule) matches(v *View) bool {
	if len(r.status) > 0 && !slices.Contains(r.status, v.Resp.Status) {
		return false
	}
	for _, h := range r.headers {
		value := strings.Join(v.Resp.Header.Values(h.name), ", ")
		if _, there := v.Resp.Header[h.name]; !there {
			return false
		}
		if h.when == nil && value != h.is {
			return false
		}
		if h.when != nil {
			if yes, err := h.when.Holds(map[string]any{"value": value, "status": v.Resp.Status}); err != nil || !yes {
				return false
			}
		}
	}
	if r.body == nil {
		return true
	}
	yes, err := r.body.Holds(v.Names(r.body.Uses))
	return err == nil && yes
}

// A View shows a response to predicates. What is costly is made once, when a
// predicate uses it.
type View struct {
	Resp    collection.Response
	decoded bool
	body    any
}

// Names returns the environment of a predicate that uses those names.
func (v *View) Names(uses map[string]bool) map[string]any {
	env := map[string]any{"status": v.Resp.Status}
	if uses["text"] {
		env["text"] = string(v.Resp.Body)
	}
	if uses["header"] {
		header := map[string]string{}
		for name, values := range v.Resp.Header {
			header[strings.ToLower(name)] = strings.Join(values, ", ")
		}
		env["header"] = header
	}
	if uses["body"] {
		if !v.decoded {
			v.body, _ = notation.DecodeJSON(v.Resp.Body) // nil if it is not JSON
			v.decoded = true
		}
		env["body"] = v.body
	}
	return env
}

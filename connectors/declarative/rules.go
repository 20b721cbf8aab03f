package declarative

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"collect/collection"
)

// A rule gives a verdict on a response. All of its conditions must hold, and
// the first rule that matches decides.
type rule struct {
	status  []int // any of them; none for every status
	headers []headerTest
	body    *predicate
	verdict collection.Verdict
}

// A headerTest holds if the header is there and equals is, or fulfils when.
type headerTest struct {
	name string
	is   string
	when *predicate
}

// The names that predicates of rules may use, with examples of their types.
var (
	bodyNames   = map[string]any{"body": map[string]any(nil), "text": "", "header": map[string]string{}, "status": 0}
	headerNames = map[string]any{"value": "", "status": 0}
)

var verdicts = []collection.Verdict{
	collection.Accept, collection.Retry, collection.Throttle, collection.OpenGap,
	collection.IsGone, collection.StopRun, collection.Fail,
}

// rules compiles specs. A verdict of its own is asked of each unless all have
// the one given.
func (c *checker) rules(specs []ruleSpec, all collection.Verdict) []rule {
	var rules []rule
	for _, spec := range specs {
		rules = append(rules, c.rule(spec, all))
	}
	return rules
}

func (c *checker) rule(spec ruleSpec, all collection.Verdict) rule {
	r := rule{verdict: all}
	place := spec.At
	for _, status := range spec.Status {
		if status.value < 100 || status.value > 599 {
			c.fail(status.at, "this must be a status from 100 to 599", "")
		}
		r.status = append(r.status, status.value)
	}
	for _, e := range spec.Header {
		test := headerTest{name: http.CanonicalHeaderKey(e.key.text), is: e.value.is.text}
		if e.value.When.set {
			test.when = c.predicate(e.value.When, headerNames)
		}
		r.headers = append(r.headers, test)
	}
	if spec.Body.set {
		r.body = c.predicate(spec.Body, bodyNames)
	}
	switch {
	case len(r.status) == 0 && len(r.headers) == 0 && !spec.Body.set:
		c.fail(place, "a rule needs a condition: status, header or body", "")
	case all == "" && !spec.Verdict.set:
		c.fail(place, "a rule in `on` needs a verdict", "")
	case all != "" && spec.Verdict.set:
		c.fail(spec.Verdict.at, "a throttle rule has no verdict: it always means throttle", "")
	case all == "":
		r.verdict = collection.Verdict(spec.Verdict.text)
		if !slices.Contains(verdicts, r.verdict) {
			c.fail(spec.Verdict.at, fmt.Sprintf("unknown verdict `%s`", spec.Verdict.text), "one of ok, retry, throttle, gap, gone, stop, fail")
		}
	}
	return r
}

// judge returns the verdict of the first rule that matches, or NoVerdict.
func judge(rules []rule, resp collection.Response) collection.Verdict {
	view := view{resp: resp}
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
func (r rule) matches(v *view) bool {
	if len(r.status) > 0 && !slices.Contains(r.status, v.resp.Status) {
		return false
	}
	for _, h := range r.headers {
		value := strings.Join(v.resp.Header.Values(h.name), ", ")
		if _, there := v.resp.Header[h.name]; !there {
			return false
		}
		if h.when == nil && value != h.is {
			return false
		}
		if h.when != nil {
			if yes, err := h.when.holds(map[string]any{"value": value, "status": v.resp.Status}); err != nil || !yes {
				return false
			}
		}
	}
	if r.body == nil {
		return true
	}
	yes, err := r.body.holds(v.names(r.body.uses))
	return err == nil && yes
}

// A view shows a response to predicates. What is costly is made once, when a
// predicate uses it.
type view struct {
	resp    collection.Response
	decoded bool
	body    any
}

func (v *view) names(uses map[string]bool) map[string]any {
	env := map[string]any{"status": v.resp.Status}
	if uses["text"] {
		env["text"] = string(v.resp.Body)
	}
	if uses["header"] {
		header := map[string]string{}
		for name, values := range v.resp.Header {
			header[strings.ToLower(name)] = strings.Join(values, ", ")
		}
		env["header"] = header
	}
	if uses["body"] {
		if !v.decoded {
			v.body, _ = decodeJSON(v.resp.Body) // nil if it is not JSON
			v.decoded = true
		}
		env["body"] = v.body
	}
	return env
}

package airbyte

import (
	"slices"
	"strconv"
	"strings"

	"collect/internal/yamlfile"
)

// A param is a property of the config of a manifest.
type param struct {
	name     string // in the connector file
	kind     string
	required bool
	fallback string
	about    string
	secret   bool
	rotates  bool // its provider replaces it when it is used
}

func (p *param) block() yamlfile.Map {
	var m yamlfile.Map
	if p.kind != "" {
		m.Set("type", p.kind)
	}
	if p.fallback != "" {
		m.Set("default", p.fallback)
	} else if p.required {
		m.Set("required", true)
	}
	if p.about != "" {
		m.Set("about", p.about)
	}
	return m
}

// readSpec notes the properties that a user gives, and which of them are secret.
func (t *translator) readSpec(spec *node) {
	t.properties(spec.get("connection_specification"))
}

func (t *translator) properties(schema *node) {
	if schema == nil {
		return
	}
	var required []string
	if list := schema.get("required"); list != nil {
		for _, item := range list.items {
			required = append(required, item.text)
		}
	}
	if of := schema.get("oneOf"); of != nil {
		for _, item := range of.items {
			t.properties(item)
		}
	}
	all := schema.get("properties")
	if all == nil {
		return
	}
	for _, p := range all.members {
		if p.get("properties") != nil || p.get("oneOf") != nil {
			t.properties(p)
			continue
		}
		if p.get("const") != nil && p.get("default") == nil || t.params[p.name] != nil {
			continue
		}
		about := strings.Join(strings.Fields(p.word("title")), " ")
		t.params[p.name] = &param{
			name: Name(p.name), kind: kindOf(p), required: slices.Contains(required, p.name),
			fallback: p.word("default"), about: about, secret: p.word("airbyte_secret") == "true",
		}
	}
}

func kindOf(p *node) string {
	switch {
	case p.word("type") == "integer":
		return "int"
	case p.word("type") == "number":
		return "number"
	case p.word("type") == "boolean":
		return "bool"
	case strings.HasPrefix(p.word("format"), "date"):
		return "date"
	}
	return ""
}

// configured returns the param that a reference to the config means.
func (t *translator) configured(r reference, secret bool) *param {
	name := r.steps[len(r.steps)-1]
	p := t.params[name]
	if p == nil {
		p = &param{name: Name(name), required: true}
		t.params[name] = p
	}
	p.secret = p.secret || secret
	if p.fallback == "" && r.fallback != "" {
		p.fallback = r.fallback
	}
	if !p.secret && p.fallback == "" {
		p.required = true // the request is made of it
	}
	return p
}

// used returns the params of which a file speaks, in the order of their names.
func (t *translator) used(text string, secret bool) (out []*param) {
	group := "${params."
	if secret {
		group = "${secrets."
	}
	for _, p := range t.params {
		known := slices.ContainsFunc(out, func(had *param) bool { return had.name == p.name })
		if p.secret == secret && !known && strings.Contains(text, group+p.name+"}") {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *param) int { return strings.Compare(a.name, b.name) })
	return out
}

// readBudget takes the rates that are for all requests as a ceiling.
func (t *translator) readBudget(budget *node) {
	for _, policy := range budget.get("policies").list() {
		matchers := policy.get("matchers").list()
		rates := policy.get("rates").list()
		if policy.is("FixedWindowCallRatePolicy") {
			rates = []*node{policy}
		}
		if len(matchers) > 0 || len(rates) == 0 {
			t.note(policy, "a budget for a part of the requests has no translation: collect learns the pace, and learns a part with a pace of its own")
			policy.use()
			continue
		}
		for _, rate := range rates {
			t.readRate(rate)
		}
	}
	budget.use()
}

func (t *translator) readRate(rate *node) {
	count, err := strconv.Atoi(rate.word("limit"))
	if err != nil {
		count, err = strconv.Atoi(rate.word("call_limit"))
	}
	every, ok := duration(rate.word("interval"))
	if !ok {
		every, ok = duration(rate.word("period"))
	}
	key := map[string]string{"1s": "per_second", "1m": "per_minute", "1h": "per_hour", "1d": "per_day"}[every]
	if err != nil || !ok || key == "" {
		t.note(rate, "a rate of `%s` requests in `%s` is not one a second, minute, hour or day: write it as `ceiling`", rate.word("limit"), rate.word("interval"))
		return
	}
	t.ceiling.Set(key, count)
}

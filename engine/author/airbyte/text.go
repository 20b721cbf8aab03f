package airbyte

import (
	"strconv"
	"strings"

	"collect/internal/lazy"
)

// A place is where a text will stand, and what it may refer to there.
type place struct {
	secret     bool              // a credential may stand here
	bindings   map[string]string // the name of a binding, by the name of a field of a partition
	start, end string            // what stands for the times of a span
}

// text translates a text with expressions into one with ${…}; false if it has an
// expression that has no translation, which is noted.
func (t *translator) text(n *node, at place) (string, bool) {
	if n == nil {
		return "", true
	}
	list, ok := pieces(n.text)
	if !ok {
		t.note(n, "`%s`: a statement of Jinja has no translation", short(n))
		return "", false
	}
	var b strings.Builder
	for _, p := range list {
		if p.expr == "" {
			b.WriteString(strings.ReplaceAll(p.literal, "${", "$ {"))
			continue
		}
		text, ok := t.expression(n, p.expr, at)
		if !ok {
			t.note(n, "`%s`: the expression `%s` has no translation", n.name, p.expr)
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

var constant = lazy.Regexp(`^(?:'([^']*)'|"([^"]*)"|([0-9]+))$`)

func (t *translator) expression(n *node, expr string, at place) (string, bool) {
	if m := constant().FindStringSubmatch(expr); m != nil {
		return m[1] + m[2] + m[3], true
	}
	r, ok := refer(expr)
	if !ok || len(r.steps) == 0 {
		return "", false
	}
	last := r.steps[len(r.steps)-1]
	switch r.root {
	case "config":
		p := t.configured(r, at.secret && !t.known(last))
		if p.secret && !at.secret {
			return "", false // a credential stands in auth only
		}
		if p.secret {
			return "${secrets." + p.name + "}", true
		}
		return "${params." + p.name + "}", true
	case "parameters", "options":
		if given := n.params[r.steps[0]]; given != nil && len(r.steps) == 1 {
			return t.text(given, at)
		}
	case "stream_partition", "stream_slice", "stream_interval", "stream_state":
		if name, ok := at.bindings[last]; ok && r.root != "stream_interval" {
			return "${" + name + "}", true
		}
		if last == "start_time" && at.start != "" {
			return "${" + at.start + "}", true
		}
		if last == "end_time" && at.end != "" {
			return "${" + at.end + "}", true
		}
	case "next_page_token":
		return "${page}", true
	}
	return "", false
}

// known tells whether the spec of the manifest has that property.
func (t *translator) known(name string) bool { return t.params[name] != nil }

func short(n *node) string {
	line := strings.Join(strings.Fields(n.text), " ")
	return line[:min(len(line), 60)]
}

// list returns the items of a list; a single value is a list of one.
func (n *node) list() []*node {
	switch {
	case n == nil:
		return nil
	case n.kind == sequence:
		for _, item := range n.items {
			item.read = true
		}
		return n.items
	}
	return []*node{n}
}

var iso = lazy.Regexp(`^P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9.]+)S)?)?$`)

// duration translates a duration of ISO 8601 that has one unit. A month is 30 days
// and a year 365.
func duration(text string) (string, bool) {
	m := iso().FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	units := []struct {
		unit string
		each float64
	}{{"d", 365}, {"d", 30}, {"d", 7}, {"d", 1}, {"h", 1}, {"m", 1}, {"s", 1}}
	out := ""
	for i, u := range units {
		if m[i+1] == "" {
			continue
		}
		count, err := strconv.ParseFloat(m[i+1], 64)
		if err != nil || out != "" {
			return "", false
		}
		if u.unit == "s" && count < 1 { // PT0.001S and the like
			return strconv.FormatFloat(count*1000, 'f', -1, 64) + "ms", true
		}
		out = strconv.FormatFloat(count*u.each, 'f', -1, 64) + u.unit
	}
	return out, out != ""
}

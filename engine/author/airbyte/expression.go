package airbyte

import (
	"strconv"
	"strings"

	"collect/internal/lazy"
)

// A piece of a text of a manifest is literal, or an expression between {{ and }}.
type piece struct {
	literal string
	expr    string // "" for a literal
}

// pieces cuts a text at its expressions.
func pieces(text string) (out []piece, ok bool) {
	for text != "" {
		before, rest, found := strings.Cut(text, "{{")
		if before != "" {
			out = append(out, piece{literal: before})
		}
		if !found {
			break
		}
		expr, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, false
		}
		out, text = append(out, piece{expr: strings.TrimSpace(expr)}), after
	}
	return out, !strings.Contains(text, "{%")
}

// expression returns what stands between {{ and }} if that is all of the text, or
// the text itself if it has none.
func expression(text string) (string, bool) {
	list, ok := pieces(strings.TrimSpace(text))
	if !ok || len(list) != 1 || list[0].expr == "" {
		return "", false
	}
	return list[0].expr, true
}

// A reference names a value: response['meta']['next'] has the root response and
// two steps.
type reference struct {
	root     string
	steps    []string
	fallback string // of .get('name', 'fallback') and of: or 'fallback'
}

var (
	identifier = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*`)
	subscript  = lazy.Regexp(`^\[\s*(?:'([^']*)'|"([^"]*)"|(-?[0-9]+))\s*\]`)
	getCall    = lazy.Regexp(`^\.get\(\s*(?:'([^']*)'|"([^"]*)")\s*(?:,\s*(?:'([^']*)'|"([^"]*)"|\{\}|\[\]|([A-Za-z0-9_.-]+)))?\s*\)`)
	orElse     = lazy.Regexp(`^\s+or\s+(?:'([^']*)'|"([^"]*)"|([0-9]+))$`)
)

// refer reads an expression that is a reference, and nothing else.
func refer(expr string) (r reference, ok bool) {
	expr = strings.TrimSpace(expr)
	r.root = identifier().FindString(expr)
	if r.root == "" {
		return r, false
	}
	rest := expr[len(r.root):]
	for rest != "" {
		if m := getCall().FindStringSubmatch(rest); m != nil {
			r.steps = append(r.steps, m[1]+m[2])
			r.fallback = m[3] + m[4]
			if _, err := strconv.Atoi(m[5]); err == nil {
				r.fallback = m[5]
			}
			rest = rest[len(m[0]):]
			continue
		}
		if m := subscript().FindStringSubmatch(rest); m != nil {
			r.steps = append(r.steps, m[1]+m[2]+m[3])
			rest = rest[len(m[0]):]
			continue
		}
		if name := identifier().FindString(strings.TrimPrefix(rest, ".")); rest[0] == '.' && name != "" {
			r.steps = append(r.steps, name)
			rest = rest[1+len(name):]
			continue
		}
		if m := orElse().FindStringSubmatch(rest); m != nil {
			r.fallback = m[1] + m[2] + m[3]
			return r, true
		}
		return r, false
	}
	return r, true
}

// path writes steps as a path of the connector language.
func path(steps []string) string {
	out := make([]string, len(steps))
	for i, step := range steps {
		out[i] = strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(step)
	}
	return strings.Join(out, ".")
}

var (
	isNothing = lazy.Regexp(`^(.+?)\s*(?:==|is)\s*(?:False|false|None|none|null|''|"")$`)
	negated   = lazy.Regexp(`^not\s+(.+)$`)
	notIn     = lazy.Regexp(`^['"]([^'"]*)['"]\s+not\s+in\s+(\S+)$`)
)

// bare returns an expression without the brackets around all of it.
func bare(expr string) string {
	expr = strings.TrimSpace(expr)
	if inner, ok := strings.CutPrefix(expr, "("); ok && strings.HasSuffix(inner, ")") {
		return strings.TrimSpace(strings.TrimSuffix(inner, ")"))
	}
	return expr
}

// absent reads an expression that is true where a value is false, empty or
// missing: not response.more, response['more'] == false.
func absent(expr string) (reference, bool) {
	expr = bare(expr)
	if m := negated().FindStringSubmatch(expr); m != nil {
		return refer(bare(m[1]))
	}
	if m := isNothing().FindStringSubmatch(expr); m != nil {
		return refer(bare(m[1]))
	}
	if m := notIn().FindStringSubmatch(expr); m != nil {
		return refer(m[2] + "['" + m[1] + "']")
	}
	return reference{}, false
}

package declarative

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A template is a text with ${…} in it. A reference is replaced by a value and
// by nothing else: there is no code in it.
type template struct {
	scalar
	parts []part
}

// A part is literal text, or the name of a value.
type part struct {
	text   string
	name   string
	offset int // of the name in the template
}

func (t *template) read(d *decoder, n ast.Node) {
	var s scalar
	s.read(d, n)
	*t = d.template(s)
}

func (d *decoder) template(s scalar) template {
	t := template{scalar: s}
	rest, at := s.text, 0
	for {
		literal, after, found := strings.Cut(rest, "${")
		if literal != "" {
			t.parts = append(t.parts, part{text: literal})
		}
		if !found {
			return t
		}
		at += len(literal) + 2
		ref, tail, closed := strings.Cut(after, "}")
		if !closed {
			d.fail(s.inside(at-2, 2), "`${` without `}`", "")
			return t
		}
		t.parts = append(t.parts, part{name: strings.TrimSpace(ref), offset: at})
		at += len(ref) + 1
		rest = tail
	}
}

// refers reports whether the template uses a value of that name, or of that
// family: "secrets." stands for every secret.
func (t template) refers(name string) bool {
	for _, p := range t.parts {
		if p.name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(p.name, name) {
			return true
		}
	}
	return false
}

// writes reports whether part of the template is its own text.
func (t template) writes() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.text != "" })
}

// A scope is what the names in a template stand for.
type scope struct {
	params  map[string]string
	secrets map[string]string
	vars    map[string]string // of the partition
	since   string
}

func (s scope) value(name string) string {
	if param, ok := strings.CutPrefix(name, "params."); ok {
		return s.params[param]
	}
	if secret, ok := strings.CutPrefix(name, "secrets."); ok {
		return s.secrets[secret]
	}
	if name == "since" {
		return s.since
	}
	return s.vars[name]
}

// lacks reports whether t refers to a parameter that is not set, or to a mark
// where there is none yet. Such a part of a query is left out.
func (s scope) lacks(t template) bool {
	for _, p := range t.parts {
		if (p.name == "since" || strings.HasPrefix(p.name, "params.")) && s.value(p.name) == "" {
			return true
		}
	}
	return false
}

// expand returns the template with its values as they are.
func (t template) expand(s scope) string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.name != "" {
			b.WriteString(s.value(p.name))
		}
	}
	return b.String()
}

var errPathValue = errors.New("a value that stands in the path is empty, or has a `.` or `..` between slashes")

// target returns the template as the path of a URL, and the query after its
// first literal `?`. Values are escaped for where they stand. A slash in a
// value stays one, so that acme/api can name a repository in a path, but a
// value that would climb out of the path is refused.
func (t template) target(s scope) (path, query string, err error) {
	var b strings.Builder
	inQuery := false
	for _, p := range t.parts {
		if p.name == "" {
			inQuery = inQuery || strings.Contains(p.text, "?")
			b.WriteString(p.text)
			continue
		}
		value := s.value(p.name)
		if inQuery {
			b.WriteString(escapeQuery(value))
			continue
		}
		segments := strings.Split(value, "/")
		for i, segment := range segments {
			if segment == "" || segment == "." || segment == ".." {
				return "", "", errPathValue
			}
			segments[i] = url.PathEscape(segment)
		}
		b.WriteString(strings.Join(segments, "/"))
	}
	path, query, _ = strings.Cut(b.String(), "?")
	return path, query, nil
}

// escapeQuery escapes text for a query, a space as %20: that is a space to every
// server, while a plus is one to those alone that read a query as a form (RFC
// 3986, section 2.1), and OData refuses it.
func escapeQuery(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// queryNames returns the parameters that are set behind the `?` of the template
// of a path, by their own text.
func (t template) queryNames() []string {
	const value = "\x00" // stands for a value, which is escaped
	var b strings.Builder
	for _, p := range t.parts {
		if p.name != "" {
			b.WriteString(value)
		}
		b.WriteString(p.text)
	}
	_, query, _ := strings.Cut(b.String(), "?")
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name = unescaped(name); name != "" && !strings.Contains(name, value) {
			names = append(names, name)
		}
	}
	return names
}

// A known says which names a template may use, and where.
type known struct {
	names []string
	where string // "in a stream", for the message
}

func (c *checker) template(t template, k known) {
	for _, p := range t.parts {
		if p.name == "" || slices.Contains(k.names, p.name) {
			continue
		}
		f := fault{at: t.inside(p.offset, max(1, len(p.name))), message: fmt.Sprintf("unknown name `%s`", p.name), label: "not known " + k.where}
		if strings.HasPrefix(p.name, "secrets.") {
			f.message, f.label = "a secret may be used in auth only", ""
		} else if near := similar(p.name, k.names); near != "" {
			f.note = fmt.Sprintf("there is a similar name: `%s`", near)
		}
		c.faults = append(c.faults, f)
	}
}

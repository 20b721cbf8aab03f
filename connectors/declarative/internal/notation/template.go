package notation

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"collect/internal/yamlfile"
)

// A Template is a text with ${…} in it. A reference is replaced by a value and
// by nothing else: there is no code in it.
type Template struct {
	yamlfile.Scalar
	Parts []Part
}

// A Part is literal text, or the name of a value.
type Part struct {
	Text   string
	Name   string
	Offset int // of the name in the template
}

// Read reads a template.
func (t *Template) Read(d *yamlfile.Decoder, n ast.Node) {
	var s yamlfile.Scalar
	s.Read(d, n)
	*t = TemplateOf(d, s)
}

// TemplateOf reads the references in a text.
func TemplateOf(d *yamlfile.Decoder, s yamlfile.Scalar) Template {
	t := Template{Scalar: s}
	rest, at := s.Text, 0
	for {
		literal, after, found := strings.Cut(rest, "${")
		if literal != "" {
			t.Parts = append(t.Parts, Part{Text: literal})
		}
		if !found {
			return t
		}
		at += len(literal) + 2
		ref, tail, closed := strings.Cut(after, "}")
		if !closed {
			d.Fail(s.Inside(at-2, 2), "`${` without `}`", "")
			return t
		}
		t.Parts = append(t.Parts, Part{Name: strings.TrimSpace(ref), Offset: at})
		at += len(ref) + 1
		rest = tail
	}
}

// Refers reports whether the template uses a value of that name, or of that
// family: "secrets." stands for every secret.
func (t Template) Refers(name string) bool {
	for _, p := range t.Parts {
		if p.Name == name || strings.HasSuffix(name, ".") && strings.HasPrefix(p.Name, name) {
			return true
		}
	}
	return false
}

// Writes reports whether part of the template is its own text.
func (t Template) Writes() bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Text != "" })
}

// A Scope is what the names in a template stand for.
type Scope struct {
	Params  map[string]string
	Secrets map[string]string
	Vars    map[string]string // of the partition
	Since   string
}

func (s Scope) value(name string) string {
	if param, ok := strings.CutPrefix(name, "params."); ok {
		return s.Params[param]
	}
	if secret, ok := strings.CutPrefix(name, "secrets."); ok {
		return s.Secrets[secret]
	}
	if name == "since" {
		return s.Since
	}
	return s.Vars[name]
}

// Lacks reports whether t refers to a parameter that is not set, or to a mark
// where there is none yet. Such a part of a query is left out.
func (s Scope) Lacks(t Template) bool {
	for _, p := range t.Parts {
		if (p.Name == "since" || strings.HasPrefix(p.Name, "params.")) && s.value(p.Name) == "" {
			return true
		}
	}
	return false
}

// Expand returns the template with its values as they are.
func (t Template) Expand(s Scope) string {
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(p.Text)
		if p.Name != "" {
			b.WriteString(s.value(p.Name))
		}
	}
	return b.String()
}

var errPathValue = errors.New("a value that stands in the path is empty, or has a `.` or `..` between slashes")

// Target returns the template as the path of a URL, and the query after its
// first literal `?`. Values are escaped for where they stand. A slash in a
// value stays one, so that acme/api can name a repository in a path, but a
// value that would climb out of the path is refused.
func (t Template) Target(s Scope) (path, query string, err error) {
	var b strings.Builder
	inQuery := false
	for _, p := range t.Parts {
		if p.Name == "" {
			inQuery = inQuery || strings.Contains(p.Text, "?")
			b.WriteString(p.Text)
			continue
		}
		value := s.value(p.Name)
		if inQuery {
			b.WriteString(EscapeQuery(value))
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

// EscapeQuery escapes text for a query, a space as %20: that is a space to every
// server, while a plus is one to those alone that read a query as a form (RFC
// 3986, section 2.1), and OData refuses it.
func EscapeQuery(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// QueryNames returns the parameters that are set behind the `?` of the template
// of a path, by their own text.
func (t Template) QueryNames() []string {
	const value = "\x00" // stands for a value, which is escaped
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Name != "" {
			b.WriteString(value)
		}
		b.WriteString(p.Text)
	}
	_, query, _ := strings.Cut(b.String(), "?")
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name = Unescaped(name); name != "" && !strings.Contains(name, value) {
			names = append(names, name)
		}
	}
	return names
}

// Unescaped returns a part of a query in plain text, or as it is if it is not
// well-formed: what cannot be read may hold a credential all the same.
func Unescaped(part string) string {
	plain, err := url.QueryUnescape(part)
	if err != nil {
		return part
	}
	return plain
}

// A template ends what it begins. Which names it may use depends on where it
// stands, so that is said there.
func (*Template) Shape(yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.Keywords{"type": yamlfile.Single(), "not": Unended()}
}

// Unended is a template with a reference that has no end.
func Unended() yamlfile.Keywords { return yamlfile.Keywords{"type": "string", "pattern": `\$\{[^}]*$`} }

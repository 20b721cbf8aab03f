package notation

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"collect/collection"
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
	Resume  string // the provider's own token, with which the walk began
	Page    string // the place of a page; "" for the first, unless it is counted
	From    string // where the window of time begins that is asked for
	To      string // and where it ends

	// Raw has the values as JSON writes them, but for those that are text.
	Raw map[string]json.RawMessage
}

// Type notes whether the value of that name is bare in JSON, as numbers are. One
// that does not read as such is text all the same.
func (s Scope) Type(name, text string, bare bool) {
	delete(s.Raw, name)
	if raw := []byte(strings.TrimPrefix(text, "+")); bare && json.Valid(raw) {
		s.Raw[name] = raw
	}
}

func (s Scope) value(name string) string {
	if param, ok := strings.CutPrefix(name, "params."); ok {
		return s.Params[param]
	}
	if secret, ok := strings.CutPrefix(name, "secrets."); ok {
		return s.Secrets[secret]
	}
	switch name {
	case "since":
		return s.Since
	case "page":
		return s.Page
	case "window.from":
		return s.From
	case "window.to":
		return s.To
	}
	return s.Vars[name]
}

// Lacks reports whether t refers to a parameter that is not set, to a mark where
// there is none yet, or to the place of a page on the first one. Such a part of a
// request is left out.
func (s Scope) Lacks(t Template) bool {
	for _, p := range t.Parts {
		if (p.Name == "since" || p.Name == "page" || strings.HasPrefix(p.Name, "params.")) && s.value(p.Name) == "" {
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

// missing stands where a value does that is not there: no other value holds it.
const missing = "\x00"

// Target returns the template as the path of a URL, and the query after its
// first literal `?`. Values are escaped for where they stand. A slash in a
// value stays one, so that acme/api can name a repository in a path, but a
// value that would climb out of the path is refused. The place of a page is one
// segment, whatever it holds; on a page that has none, its segment of the path,
// or its parameter of the query, is left out.
func (t Template) Target(s Scope) (path, query string, err error) {
	var b strings.Builder
	inQuery, left := false, false
	for _, p := range t.Parts {
		if p.Name == "" {
			inQuery = inQuery || strings.Contains(p.Text, "?")
			b.WriteString(p.Text)
			continue
		}
		value := s.value(p.Name)
		if p.Name == "page" && value == "" {
			left = true
			b.WriteString(missing)
			continue
		}
		if inQuery {
			b.WriteString(collection.EscapeQuery(value))
			continue
		}
		segments := strings.Split(value, "/")
		for i, segment := range segments {
			if segment == "." || segment == ".." || segment == "" && p.Name != "page" {
				return "", "", errPathValue
			}
			segments[i] = url.PathEscape(segment)
		}
		between := "/"
		if p.Name == "page" {
			between = "%2F"
		}
		b.WriteString(strings.Join(segments, between))
	}
	path, query, _ = strings.Cut(b.String(), "?")
	query = strings.ReplaceAll(query, " ", "%20") // a space would end the request line
	if left {
		path, query = withoutMissing(path, "/"), withoutMissing(query, "&")
	}
	return path, query, nil
}

// withoutMissing takes what lacks a value out of a list.
func withoutMissing(list, between string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(list, between), func(part string) bool { return strings.Contains(part, missing) }), between)
}

// QueryNames returns the parameters that are set behind the `?` of the template
// of a path, by their own text.
func (t Template) QueryNames() []string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Name != "" {
			b.WriteString(missing)
		}
		b.WriteString(p.Text)
	}
	_, query, _ := strings.Cut(b.String(), "?")
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name = Unescaped(name); name != "" && !strings.Contains(name, missing) {
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

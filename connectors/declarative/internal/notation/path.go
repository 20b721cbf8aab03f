// Package notation reads what stands inside the values of a connector file:
// paths, templates and predicates. It knows no key of the language.
package notation

import (
	"bytes"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/goccy/go-yaml/ast"
	"github.com/tidwall/gjson"

	"collect/internal/yamlfile"
)

// A Path names a value inside a JSON document: names with dots between them,
// such as data.items; a dot in a name is written `\.`. A whole number names
// the element of an array. Names are compared exactly.
type Path struct {
	yamlfile.Scalar
	Steps  []string
	quoted [][]byte // the steps as JSON spells them without escapes
	query  string   // the path for gjson, with everything special escaped
}

// Read reads a path.
func (p *Path) Read(d *yamlfile.Decoder, n ast.Node) {
	var s yamlfile.Scalar
	s.Read(d, n)
	if s.Set {
		*p = PathOf(d, s)
	}
}

// PathOf reads a path that stands in a text.
func PathOf(d *yamlfile.Decoder, s yamlfile.Scalar) Path {
	p := Path{Scalar: s}
	var step strings.Builder
	for i := 0; i < len(s.Text); i++ {
		switch {
		case s.Text[i] == '\\' && i+1 < len(s.Text):
			i++
			step.WriteByte(s.Text[i])
		case s.Text[i] == '.':
			p.Steps = append(p.Steps, step.String())
			step.Reset()
		default:
			step.WriteByte(s.Text[i])
		}
	}
	p.Steps = append(p.Steps, step.String())
	for i, step := range p.Steps {
		if step == "" {
			d.Fail(s.At, "this must be a path such as data.items", "")
			return p
		}
		if i > 0 {
			p.query += "."
		}
		p.query += gjson.Escape(step)
		p.quoted = append(p.quoted, []byte(`"`+step+`"`))
	}
	return p
}

// Below returns the path of what stands at steps below p.
func (p Path) Below(steps ...string) Path {
	s := p.Scalar
	s.Text = strings.Join(append([]string{s.Text}, steps...), ".")
	return PathOf(&yamlfile.Decoder{}, s)
}

// After returns the path below its first step.
func (p Path) After() Path {
	rest := Path{Scalar: p.Scalar, Steps: p.Steps[1:], quoted: p.quoted[1:]}
	for i, step := range rest.Steps {
		if i > 0 {
			rest.query += "."
		}
		rest.query += gjson.Escape(step)
	}
	return rest
}

// Holder returns the path of what holds p; the zero path is the document.
func (p Path) Holder() Path {
	holder := Path{Scalar: p.Scalar, Steps: p.Steps[:len(p.Steps)-1]}
	holder.Set = len(holder.Steps) > 0
	return holder
}

// In returns the value at p in doc, which is valid JSON.
func (p Path) In(doc []byte) gjson.Result {
	return gjson.GetBytes(doc, p.query)
}

// Absent reports whether doc has nothing at p, not even null. A null on the
// way to p counts as one there: who writes "links": null says that there are
// no links, not that they have another name.
func (p Path) Absent(doc []byte) bool {
	value := Parse(doc)
	for _, step := range p.Steps {
		if value = value.Get(gjson.Escape(step)); !value.Exists() {
			return true
		}
		if value.Type == gjson.Null {
			return false
		}
	}
	return false
}

// Twice reports whether an object on the way to p in doc has a name of p more
// than once. JSON does not say which one counts (RFC 8259, section 4), so that
// to take either may be to lose the other.
func (p Path) Twice(doc []byte) bool {
	suspect := bytes.IndexByte(doc, '\\') >= 0 // a name may hide behind escapes
	for _, quoted := range p.quoted {
		suspect = suspect || bytes.Count(doc, quoted) > 1
	}
	if !suspect {
		return false
	}
	value := Parse(doc)
	for _, step := range p.Steps {
		times := 0
		if value.IsObject() {
			value.ForEach(func(name, _ gjson.Result) bool {
				if name.Str == step {
					times++
				}
				return times < 2
			})
		}
		if times > 1 {
			return true
		}
		value = value.Get(gjson.Escape(step))
	}
	return false
}

// Parse reads a document without a copy of it: the result shares its bytes,
// which do not change, as those of a page.
func Parse(doc []byte) gjson.Result {
	return gjson.Parse(unsafe.String(unsafe.SliceData(doc), len(doc))) // #nosec G103 -- as it says above
}

// TextOf returns a string without its quotes and escapes, and any other scalar as it
// was sent. ok is false for a value that is missing, null, an array or an object, and
// for a string with half of a surrogate pair, which has no text.
func TextOf(value gjson.Result) (text string, ok bool) {
	switch value.Type {
	case gjson.String:
		broken := strings.ContainsRune(value.Str, utf8.RuneError) && strings.Contains(value.Raw, `\u`)
		return value.Str, !broken
	case gjson.Number, gjson.True, gjson.False:
		return value.Raw, true
	}
	return "", false
}

// Step is one name of a path. A backslash in front of a dot makes the dot a part of
// the name.
const Step = `([^.\\]|\\.)+`

func (*Path) Shape(yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.Keywords{"type": []string{"string", "number", "boolean"}, "pattern": `^` + Step + `(\.` + Step + `)*\\?$`}
}

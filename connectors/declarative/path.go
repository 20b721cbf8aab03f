package declarative

import (
	"bytes"
	"reflect"
	"strings"
	"unsafe"

	"github.com/goccy/go-yaml/ast"
	"github.com/tidwall/gjson"
)

// A path names a value inside a JSON document: names with dots between them,
// such as data.items; a dot in a name is written `\.`. A whole number names
// the element of an array. Names are compared exactly.
type path struct {
	scalar
	steps  []string
	quoted [][]byte // the steps as JSON spells them without escapes
	query  string   // the path for gjson, with everything special escaped
}

func (p *path) read(d *decoder, n ast.Node) {
	var s scalar
	s.read(d, n)
	if s.set {
		*p = d.path(s)
	}
}

// A recordsPath is the path of the records of a stream. Null is the body, as
// where nothing stands, and undoes what the defaults say.
type recordsPath struct{ path }

func (p *recordsPath) read(d *decoder, n ast.Node) {
	if n.Type() == ast.NullType {
		p.null = true
		return
	}
	p.path.read(d, n)
}

func (d *decoder) path(s scalar) path {
	p := path{scalar: s}
	var step strings.Builder
	for i := 0; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\' && i+1 < len(s.text):
			i++
			step.WriteByte(s.text[i])
		case s.text[i] == '.':
			p.steps = append(p.steps, step.String())
			step.Reset()
		default:
			step.WriteByte(s.text[i])
		}
	}
	p.steps = append(p.steps, step.String())
	for i, step := range p.steps {
		if step == "" {
			d.fail(s.at, "this must be a path such as data.items", "")
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

// after returns the path below its first step.
func (p path) after() path {
	rest := path{scalar: p.scalar, steps: p.steps[1:], quoted: p.quoted[1:]}
	for i, step := range rest.steps {
		if i > 0 {
			rest.query += "."
		}
		rest.query += gjson.Escape(step)
	}
	return rest
}

// in returns the value at p in doc, which is valid JSON.
func (p path) in(doc []byte) gjson.Result {
	return gjson.GetBytes(doc, p.query)
}

// absent reports whether doc has nothing at p, not even null. A null on the
// way to p counts as one there: who writes "links": null says that there are
// no links, not that they have another name.
func (p path) absent(doc []byte) bool {
	value := parse(doc)
	for _, step := range p.steps {
		if value = value.Get(gjson.Escape(step)); !value.Exists() {
			return true
		}
		if value.Type == gjson.Null {
			return false
		}
	}
	return false
}

// twice reports whether an object on the way to p in doc has a name of p more
// than once. JSON does not say which one counts (RFC 8259, section 4), so that
// to take either may be to lose the other.
func (p path) twice(doc []byte) bool {
	suspect := bytes.IndexByte(doc, '\\') >= 0 // a name may hide behind escapes
	for _, quoted := range p.quoted {
		suspect = suspect || bytes.Count(doc, quoted) > 1
	}
	if !suspect {
		return false
	}
	value := parse(doc)
	for _, step := range p.steps {
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

// read takes a path alone for the whole block.
func (s *nextURLSpec) read(d *decoder, n ast.Node) {
	if _, single := n.(ast.ScalarNode); single {
		s.Path.read(d, n)
		return
	}
	d.block(n, reflect.ValueOf(s).Elem())
}

// A keySpec is a path, or a list of paths for a composite key.
type keySpec struct {
	paths []path
}

func (k *keySpec) read(d *decoder, n ast.Node) {
	k.paths = nil
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			var p path
			p.read(d, item)
			k.paths = append(k.paths, p)
		}
		if len(k.paths) == 0 {
			d.fail(spanOf(n.GetToken()), "a key needs at least one path", "")
		}
		return
	}
	var p path
	if p.read(d, n); p.set {
		k.paths = []path{p}
	}
}

func (h *headerSpec) read(d *decoder, n ast.Node) {
	if _, single := n.(ast.ScalarNode); single {
		h.is.read(d, n)
		return
	}
	for _, pair := range d.mapping(n, "a header test", "") {
		if key := keyOf(pair); key.text == "when" {
			h.When.read(d, pair.Value)
		} else {
			d.fail(key.at, "unknown key `"+key.text+"`", "a header test has the key `when`")
		}
	}
}

// parse reads a document without a copy of it: the result shares its bytes,
// which do not change, as those of a page.
func parse(doc []byte) gjson.Result {
	return gjson.Parse(unsafe.String(unsafe.SliceData(doc), len(doc))) // #nosec G103 -- as it says above
}

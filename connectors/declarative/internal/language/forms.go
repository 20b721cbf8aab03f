package language

import (
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"

	"collect/connectors/declarative/internal/notation"
	"collect/internal/lazy"
	"collect/internal/yamlfile"
)

// What is written in a form of its own: names, and blocks that may be a single
// value instead.

// names are the names that a connector, provider, stream, parameter, secret or
// binding may have: each is also an identifier in predicates and in SQL.
var names = lazy.Regexp(`^[a-z][a-z0-9_]{0,62}$`)

// A name is what a thing of the file is called.
type name struct{ yamlfile.Scalar }

func (v *name) Read(d *yamlfile.Decoder, n ast.Node) {
	v.Scalar.Read(d, n)
	if v.Set {
		CheckName(d, v.Scalar)
	}
}

// CheckName notes a mistake if s cannot be a name.
func CheckName(d *yamlfile.Decoder, s yamlfile.Scalar) {
	if !names().MatchString(s.Text) {
		d.Fail(s.At, fmt.Sprintf("`%s` cannot be a name", s.Text), "use a-z, 0-9 and _, and begin with a letter")
	}
}

// Read takes "clamp: off" for what it says.
func (c *clampSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	switch n := n.(type) {
	case *ast.StringNode:
		if c.Off.Value = n.Value == "off"; c.Off.Value {
			return
		}
	case *ast.BoolNode:
		if c.Off.Value = !n.Value; c.Off.Value {
			return
		}
	}
	d.Block(n, reflect.ValueOf(c).Elem())
}

// Read takes "auth: none" for what it says.
func (a *AuthSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	if text, ok := n.(*ast.StringNode); ok && text.Value == "none" {
		a.None.Value = true
		return
	}
	d.Block(n, reflect.ValueOf(a).Elem())
}

// Read takes a path alone for the whole block.
func (p *ProbeSpec) Read(d *yamlfile.Decoder, n ast.Node) { shortOrBlock(d, n, p, &p.At, p.Get.Read) }

// Read takes a path alone for the whole block.
func (p *PollSpec) Read(d *yamlfile.Decoder, n ast.Node) { shortOrBlock(d, n, p, &p.At, p.Get.Read) }

// Read takes the word alone for the whole block.
func (s *SendSpec) Read(d *yamlfile.Decoder, n ast.Node) { shortOrBlock(d, n, s, &s.At, s.Word.Read) }

// shortOrBlock reads a single value by short, where one may stand for the whole
// block, and anything else as the block.
func shortOrBlock(d *yamlfile.Decoder, n ast.Node, block any, at *yamlfile.Span, short func(*yamlfile.Decoder, ast.Node)) {
	if _, single := n.(ast.ScalarNode); single {
		*at = yamlfile.SpanOf(n.GetToken())
		short(d, n)
		return
	}
	d.Block(n, reflect.ValueOf(block).Elem())
}

// Read takes a path alone for the whole block. Null is the body, as where nothing
// stands, and undoes what the defaults say.
func (r *RecordsSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	shortOrBlock(d, n, r, &r.At, r.Path.Read)
}

// Read takes the name alone for the whole block.
func (f *FormatSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	if _, single := n.(ast.ScalarNode); single && n.Type() != ast.NullType {
		f.At = yamlfile.SpanOf(n.GetToken())
		f.As.Read(d, n)
		return
	}
	d.Block(n, reflect.ValueOf(f).Elem())
}

// Read takes the name alone for the whole block.
func (a *ArchiveSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	if n.Type() == ast.NullType {
		return
	}
	a.At = yamlfile.SpanOf(n.GetToken())
	if _, single := n.(ast.ScalarNode); single {
		a.As.Read(d, n)
	} else {
		d.Block(n, reflect.ValueOf(a).Elem())
	}
}

// Given reports whether anything stands there.
func (r RecordsSpec) Given() bool { return r.At.Line > 0 }

// A ColumnsSpec is a list of names, or a text.
type ColumnsSpec struct {
	yamlfile.Scalar
	Names []yamlfile.Scalar
}

func (c *ColumnsSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		c.Scalar.Read(d, n)
		return
	}
	c.At = yamlfile.SpanOf(n.GetToken())
	for _, item := range list.Values {
		var name yamlfile.Scalar
		name.Read(d, item)
		if name.Text == "" {
			d.Fail(yamlfile.SpanOf(item.GetToken()), "a column needs a name", "")
		}
		c.Names = append(c.Names, name)
	}
	if len(c.Names) == 0 {
		d.Fail(c.At, "`columns` needs at least one name", "")
	}
}

// Read takes a path alone for the whole block.
func (s *nextURLSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	if _, single := n.(ast.ScalarNode); single {
		s.Path.Read(d, n)
		return
	}
	d.Block(n, reflect.ValueOf(s).Elem())
}

// Read takes a path alone for the whole block.
func (s *SourceSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	s.At = yamlfile.SpanOf(n.GetToken())
	if _, single := n.(ast.ScalarNode); single {
		s.Path.Read(d, n)
		return
	}
	d.Block(n, reflect.ValueOf(s).Elem())
	if s.Header.Text == "" {
		d.Fail(s.At, "a total needs a path, or the name of a `header`", "")
	}
}

// A keySpec is a path, or a list of paths for a composite key.
type keySpec struct {
	Paths []notation.Path
}

func (k *keySpec) Read(d *yamlfile.Decoder, n ast.Node) {
	k.Paths = nil
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			var p notation.Path
			p.Read(d, item)
			k.Paths = append(k.Paths, p)
		}
		if len(k.Paths) == 0 {
			d.Fail(yamlfile.SpanOf(n.GetToken()), "a key needs at least one path", "")
		}
		return
	}
	var p notation.Path
	if p.Read(d, n); p.Set {
		k.Paths = []notation.Path{p}
	}
}

// apiKeys are one key, or a list of several.
type apiKeys []APIKeySpec

func (k *apiKeys) Read(d *yamlfile.Decoder, n ast.Node) {
	nodes := []ast.Node{n}
	if list, ok := n.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	*k = nil
	for _, n := range nodes {
		key := APIKeySpec{At: yamlfile.SpanOf(n.GetToken())}
		d.Block(n, reflect.ValueOf(&key).Elem())
		*k = append(*k, key)
	}
	if len(*k) == 0 {
		d.Fail(yamlfile.SpanOf(n.GetToken()), "api_key needs at least one key", "")
	}
}

func (h *headerSpec) Read(d *yamlfile.Decoder, n ast.Node) {
	if _, single := n.(ast.ScalarNode); single {
		h.Is.Read(d, n)
		return
	}
	for _, pair := range d.Mapping(n, "a header test", "") {
		if key := yamlfile.KeyOf(pair); key.Text == "when" {
			h.When.Read(d, pair.Value)
		} else {
			d.Fail(key.At, "unknown key `"+key.Text+"`", "a header test has the key `when`")
		}
	}
}

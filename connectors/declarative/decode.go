package declarative

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxSource bounds a connector file. The longest in use elsewhere, of a
// provider with hundreds of streams, is below 512 KiB.
const maxSource = 1 << 20

// maxFaults bounds the errors reported at once: more are rarely read.
const maxFaults = 10

// A decoder reads the nodes of a YAML document into the structs of the
// language. It goes on after a fault, so that one look shows several.
type decoder struct {
	faults []fault
}

// A leaf reads itself from one node.
type leaf interface {
	read(d *decoder, n ast.Node)
}

// An entry is a key of a mapping with what was written under it.
type entry[T any] struct {
	key   scalar
	value T
}

// An ordered is a mapping with free keys, in the order of the file.
type ordered[T any] []entry[T]

func (o *ordered[T]) read(d *decoder, n ast.Node) {
	for _, pair := range d.mapping(n, "a mapping", "") {
		e := entry[T]{key: keyOf(pair)}
		if e.key.text == "" {
			d.fail(e.key.at, "a key must not be empty", "")
			continue
		}
		d.value(pair.Value, reflect.ValueOf(&e.value).Elem())
		*o = append(*o, e)
	}
}

func (o ordered[T]) find(key string) (T, bool) {
	for _, e := range o {
		if e.key.text == key {
			return e.value, true
		}
	}
	var none T
	return none, false
}

func (o ordered[T]) keys() []string {
	keys := make([]string, len(o))
	for i, e := range o {
		keys[i] = e.key.text
	}
	return keys
}

// decode reads src into doc and returns the faults of syntax and shape.
func decode(src []byte, doc *document) []fault {
	start := span{line: 1, column: 1, length: 1}
	if len(src) > maxSource {
		return []fault{{at: start, message: "the file is longer than 1 MiB"}}
	}
	if !utf8.Valid(src) {
		return []fault{{at: start, message: "the file is not UTF-8 text"}}
	}
	if line, column := TooNested(src); line > 0 {
		return []fault{{at: span{line: line, column: column, length: 1}, message: nested}}
	}
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return []fault{syntaxFault(src, err)}
	}
	d := &decoder{}
	switch {
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		d.fail(start, "the file is empty", "")
	case len(file.Docs) > 1:
		d.fail(start, "the file holds more than one YAML document", "")
	default:
		d.value(file.Docs[0].Body, reflect.ValueOf(doc).Elem())
	}
	return d.faults
}

// syntaxFault is where and why src is not YAML. A tab before the first word of a
// line looks like nothing, and is said by the parser in many ways.
func syntaxFault(src []byte, err error) fault {
	f := fault{at: span{line: 1, column: 1, length: 1}, message: "not YAML"}
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		f.message = syntax.Message
		if syntax.Token != nil {
			f.at = spanOf(syntax.Token)
		}
	}
	n := 0
	for line := range bytes.Lines(src) {
		n++
		words := bytes.TrimLeft(line, " \t")
		if tab := bytes.IndexByte(line[:len(line)-len(words)], '\t'); tab >= 0 && len(bytes.TrimSpace(words)) > 0 {
			return fault{at: span{line: n, column: tab + 1, length: 1}, message: "a line begins with a tab: YAML wants spaces"}
		}
	}
	return f
}

func (d *decoder) fail(at span, message, label string) {
	d.faults = append(d.faults, fault{at: at, message: message, label: label})
}

// value reads n into v: by its own reader, or field by field.
func (d *decoder) value(n ast.Node, v reflect.Value) {
	if n == nil {
		return // the parser leaves out what it could not read
	}
	if l, ok := v.Addr().Interface().(leaf); ok {
		l.read(d, n)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if n.Type() == ast.NullType {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem())
	case reflect.Slice:
		d.list(n, v)
	case reflect.Struct:
		d.block(n, v)
	}
}

func (d *decoder) list(n ast.Node, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(spanOf(n.GetToken()), "this must be a list", "not a list")
		return
	}
	for _, item := range seq.Values {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(item, element)
		v.Set(reflect.Append(v, element))
	}
}

// block reads a mapping whose keys are the fields of the struct v.
func (d *decoder) block(n ast.Node, v reflect.Value) {
	t := v.Type()
	what := t.Field(0).Tag.Get("block")
	if at := v.FieldByName("At"); at.IsValid() {
		at.Set(reflect.ValueOf(spanOf(n.GetToken())))
	}
	var keys []string
	fields := map[string]reflect.Value{}
	for i := 1; i < t.NumField(); i++ {
		key := t.Field(i).Tag.Get("yaml")
		if key == "" {
			continue
		}
		keys = append(keys, key)
		fields[key] = v.Field(i)
	}
	for _, pair := range d.mapping(n, what, t.Field(0).Tag.Get("like")) {
		key := keyOf(pair)
		field, ok := fields[key.text]
		if !ok {
			f := fault{at: key.at, message: fmt.Sprintf("unknown key `%s`", key.text), label: "not a key of " + what}
			if near := similar(key.text, keys); near != "" {
				f.note = fmt.Sprintf("%s has a similar key: `%s`", what, near)
			}
			d.faults = append(d.faults, f)
			continue
		}
		d.value(pair.Value, field)
	}
}

// mapping returns the pairs of n, a block that is called what and is written
// like the sample, if there is one.
func (d *decoder) mapping(n ast.Node, what, like string) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil // a key with nothing under it
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.fail(spanOf(n.GetToken()), "anchors, aliases and tags are not part of the language", "")
	default:
		f := fault{at: spanOf(n.GetToken()), message: "this must be a mapping: " + what, label: "not a mapping", hide: true}
		if like != "" {
			f.note = "it is written like this: " + like
		}
		d.faults = append(d.faults, f)
	}
	return nil
}

// A scalar is a value as it was written, without quotes.
type scalar struct {
	text   string
	at     span
	set    bool
	null   bool
	quoted bool // the text begins one column after at
	block  bool // a literal or folded text: columns inside it are not known
}

func (s *scalar) read(d *decoder, n ast.Node) {
	tk := n.GetToken()
	*s = scalar{at: spanOf(tk), set: true}
	switch n := n.(type) {
	case *ast.StringNode:
		s.text = n.Value
		s.quoted = tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		s.text, s.block = n.Value.Value, true
	case *ast.NullNode:
		s.null = true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s.text = strings.TrimSpace(tk.Value)
	default:
		s.set = false
		d.faults = append(d.faults, fault{at: s.at, message: "this must be a single value", label: "not a single value", hide: true})
	}
}

// inside returns the place of length characters at an offset in the text.
func (s scalar) inside(offset, length int) span {
	if s.block || strings.Contains(s.text[:min(offset, len(s.text))], "\n") {
		return s.at
	}
	column := s.at.column + utf8.RuneCountInString(s.text[:min(offset, len(s.text))])
	if s.quoted {
		column++
	}
	return span{line: s.at.line, column: column, length: length}
}

func keyOf(pair *ast.MappingValueNode) scalar {
	tk := pair.Key.GetToken()
	s := scalar{at: spanOf(tk), set: true}
	if text, ok := pair.Key.(*ast.StringNode); ok {
		s.text = text.Value
	} else {
		s.text = strings.TrimSpace(tk.Value)
	}
	return s
}

func spanOf(tk *token.Token) span {
	if tk == nil || tk.Position == nil {
		return span{line: 1, column: 1, length: 1}
	}
	length := utf8.RuneCountInString(strings.TrimSpace(tk.Value))
	if tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType {
		length += 2
	}
	return span{line: max(1, tk.Position.Line), column: max(1, tk.Position.Column), length: max(1, length)}
}

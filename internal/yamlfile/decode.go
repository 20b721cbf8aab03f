// Package yamlfile reads the YAML files that people write: strictly, so that no
// key is passed over, and with the place of each mistake.
//
// A file is read into a struct, block by block. A key without a field is a
// mistake, and so is a value of another shape. The first field of a block is
// blank; its tags are the name of the block in messages, and how it is written,
// for a person who wrote a single value in its place. Keys that people look for, and that mean
// something else or nothing here, are named with what to write in a tag hint:
//
//	type quota struct {
//		_       struct{} `block:"a quota" like:"quota: {reserve: 20%}" hint:"keep spare: the share that is left is reserve"`
//		At      Span     // where the block stands, if there is such a field
//		Reserve Percent  `yaml:"reserve" about:"what it means" default:"none"`
//	}
//
// Of the same structs [SchemaOf] makes the JSON Schema of the file.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"collect/internal/lazy"
	"collect/internal/similar"
)

// Longest bounds a file, in bytes. The longest connector in use elsewhere, of a
// provider with hundreds of streams, is below 512 KiB; a thousand connectors of
// a configuration take 100 KiB.
const Longest = 1 << 20

// A Decoder reads the nodes of a YAML document into structs. It goes on after a
// fault, so that one look shows several.
type Decoder struct {
	Faults []Fault
}

// A leaf reads itself from one node.
type leaf interface {
	Read(d *Decoder, n ast.Node)
}

// An Entry is a key of a mapping with what was written under it.
type Entry[T any] struct {
	Key   Scalar
	Value T
}

// An Ordered is a mapping with free keys, in the order of the file.
type Ordered[T any] []Entry[T]

func (o *Ordered[T]) Read(d *Decoder, n ast.Node) {
	what, like := named(reflect.TypeFor[T]())
	for _, pair := range d.Mapping(n, what, like) {
		e := Entry[T]{Key: KeyOf(pair)}
		if e.Key.Text == "" {
			d.Fail(e.Key.At, "a key must not be empty", "")
			continue
		}
		d.Value(pair.Value, reflect.ValueOf(&e.Value).Elem())
		*o = append(*o, e)
	}
}

// named returns what is said of a mapping whose values are of a type, and how one is written.
func named(of reflect.Type) (what, like string) {
	if of.Kind() != reflect.Struct || of.NumField() == 0 {
		return "", ""
	}
	tag := of.Field(0).Tag
	if _, noun, is := strings.Cut(tag.Get("block"), " "); is { // without its article
		what = "a name for each " + noun
	}
	return what, tag.Get("like")
}

// Find returns what stands under key.
func (o Ordered[T]) Find(key string) (T, bool) {
	for _, e := range o {
		if e.Key.Text == key {
			return e.Value, true
		}
	}
	var none T
	return none, false
}

// Keys returns the keys.
func (o Ordered[T]) Keys() []string {
	keys := make([]string, len(o))
	for i, e := range o {
		keys[i] = e.Key.Text
	}
	return keys
}

// Decode reads src into the struct that doc points to, and returns the faults of
// syntax and shape. A file with nothing in it has none.
func Decode(src []byte, doc any) []Fault {
	start := Span{Line: 1, Column: 1, Length: 1}
	if len(src) > Longest {
		return []Fault{{At: start, Message: "the file is longer than 1 MiB"}}
	}
	src = unified(src)
	if !utf8.Valid(src) {
		return []Fault{{At: start, Message: "the file is not UTF-8 text"}}
	}
	if line, column := TooNested(src); line > 0 {
		return []Fault{{At: Span{Line: line, Column: column, Length: 1}, Message: nested}}
	}
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return []Fault{syntaxFault(src, err)}
	}
	d := &Decoder{}
	switch {
	case len(file.Docs) == 0 || file.Docs[0].Body == nil: // nothing but comments
	case len(file.Docs) > 1:
		d.Fail(start, "the file holds more than one YAML document", "")
	default:
		d.Value(file.Docs[0].Body, reflect.ValueOf(doc).Elem())
	}
	return d.Faults
}

// bareTemplate matches a value without quotes that begins with ${.
var bareTemplate = lazy.Regexp(`[:,\[]\s*\$\{`)

// lineBreaks are those of YAML 1.2 (5.4) that are no line feed already.
var lineBreaks = lazy.Regexp("\r\n?")

// unified returns src with one kind of line break, so that we and the parser
// count alike.
func unified(src []byte) []byte { return lineBreaks().ReplaceAll(src, []byte("\n")) }

// syntaxFault is where and why src is not YAML. A tab before the first word of a
// line looks like nothing, and is said by the parser in many ways.
func syntaxFault(src []byte, err error) Fault {
	f := Fault{At: Span{Line: 1, Column: 1, Length: 1}, Message: "not YAML"}
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		f.Message = "not YAML: " + syntax.Message
		if syntax.Token != nil {
			f.At = SpanOf(syntax.Token)
		}
	}
	n := 0
	for line := range bytes.Lines(src) {
		n++
		if (n == f.At.Line || n == f.At.Line-1) && bareTemplate().Match(line) {
			f.Note = "inside braces and brackets, a value with ${…} needs quotes: \"${…}\""
		}
		words := bytes.TrimLeft(line, " \t")
		if tab := bytes.IndexByte(line[:len(line)-len(words)], '\t'); tab >= 0 && len(bytes.TrimSpace(words)) > 0 {
			return Fault{At: Span{Line: n, Column: tab + 1, Length: 1}, Message: "a line begins with a tab: YAML wants spaces"}
		}
	}
	return f
}

// Fail notes a mistake. What the label says stands beside the caret.
func (d *Decoder) Fail(at Span, message, label string) {
	d.Faults = append(d.Faults, Fault{At: at, Message: message, Label: label})
}

// OneOf notes a mistake if s says anything but one of allowed.
func (d *Decoder) OneOf(s Scalar, allowed ...string) {
	if s.Set && !slices.Contains(allowed, s.Text) {
		d.Fail(s.At, fmt.Sprintf("unknown value `%s`", s.Text), "one of "+strings.Join(allowed, ", "))
	}
}

// Value reads n into v: by its own reader, or field by field.
func (d *Decoder) Value(n ast.Node, v reflect.Value) {
	if n == nil {
		return // the parser leaves out what it could not read
	}
	if l, ok := v.Addr().Interface().(leaf); ok {
		l.Read(d, n)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if n.Type() == ast.NullType {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		d.Value(n, v.Elem())
	case reflect.Slice:
		d.list(n, v)
	case reflect.Struct:
		d.Block(n, v)
	}
}

func (d *Decoder) list(n ast.Node, v reflect.Value) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.Fail(SpanOf(n.GetToken()), "this must be a list", "not a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(seq.Values))) // which says something else than no list
	for _, item := range seq.Values {
		element := reflect.New(v.Type().Elem()).Elem()
		d.Value(item, element)
		v.Set(reflect.Append(v, element))
	}
}

// mostKeys is how many keys of a block a note lists.
const mostKeys = 16

// Block reads a mapping whose keys are the fields of the struct v.
func (d *Decoder) Block(n ast.Node, v reflect.Value) {
	t := v.Type()
	what := t.Field(0).Tag.Get("block")
	if at := v.FieldByName("At"); at.IsValid() {
		at.Set(reflect.ValueOf(SpanOf(n.GetToken())))
	}
	var keys []string
	fields := map[string]reflect.Value{}
	for _, field := range reflect.VisibleFields(t) {
		if key := field.Tag.Get("yaml"); key != "" {
			keys = append(keys, key)
			fields[key] = v.FieldByIndex(field.Index)
		}
	}
	for _, pair := range d.Mapping(n, what, t.Field(0).Tag.Get("like")) {
		key := KeyOf(pair)
		field, ok := fields[key.Text]
		if !ok {
			f := Fault{At: key.At, Message: fmt.Sprintf("unknown key `%s`", key.Text), Label: "not a key of " + what}
			if near := similar.To(key.Text, keys); near != "" {
				f.Note = fmt.Sprintf("%s has a similar key: `%s`", what, near)
			}
			if keys, hint, is := strings.Cut(t.Field(0).Tag.Get("hint"), ": "); is && slices.Contains(strings.Fields(keys), key.Text) {
				f.Note = hint
			}
			if f.Note == "" && len(keys) <= mostKeys {
				f.Note = fmt.Sprintf("%s has: %s", what, strings.Join(keys, ", "))
			}
			d.Faults = append(d.Faults, f)
			continue
		}
		d.Value(pair.Value, field)
	}
}

// Mapping returns the pairs of n, a block that is called what and is written
// like the sample, if there is one.
func (d *Decoder) Mapping(n ast.Node, what, like string) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil // a key with nothing under it
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.Fail(SpanOf(n.GetToken()), "anchors, aliases and tags are not part of the language", "")
	default:
		f := Fault{At: SpanOf(n.GetToken()), Message: "this must be a mapping", Label: "not a mapping", Hide: true}
		if _, list := n.(*ast.SequenceNode); list {
			f.Label = "a list, not a mapping"
		}
		if what != "" {
			f.Message += ": " + what
		}
		if like != "" {
			f.Note = "it is written like this: " + like
		}
		d.Faults = append(d.Faults, f)
	}
	return nil
}

// A Scalar is a value as it was written, without quotes.
type Scalar struct {
	Text   string
	At     Span
	Set    bool
	Null   bool
	quoted bool // the text begins one column after at
	block  bool // a literal or folded text: columns inside it are not known
}

func (s *Scalar) Read(d *Decoder, n ast.Node) {
	tk := n.GetToken()
	*s = Scalar{At: SpanOf(tk), Set: true}
	switch n := n.(type) {
	case *ast.StringNode:
		s.Text = n.Value
		s.quoted = tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		s.Text, s.block = n.Value.Value, true
	case *ast.NullNode:
		s.Null = true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s.Text = strings.TrimSpace(tk.Value)
	default:
		s.Set = false
		d.Faults = append(d.Faults, Fault{At: s.At, Message: "this must be a single value", Label: "not a single value", Hide: true})
	}
}

// Inside returns the place of length characters at an offset in the text.
func (s Scalar) Inside(offset, length int) Span {
	if s.block || strings.Contains(s.Text[:min(offset, len(s.Text))], "\n") {
		return s.At
	}
	column := s.At.Column + utf8.RuneCountInString(s.Text[:min(offset, len(s.Text))])
	if s.quoted {
		column++
	}
	return Span{Line: s.At.Line, Column: column, Length: length}
}

// KeyOf returns the key of a pair, without quotes.
func KeyOf(pair *ast.MappingValueNode) Scalar {
	tk := pair.Key.GetToken()
	s := Scalar{At: SpanOf(tk), Set: true}
	if text, ok := pair.Key.(*ast.StringNode); ok {
		s.Text = text.Value
	} else {
		s.Text = strings.TrimSpace(tk.Value)
	}
	return s
}

// SpanOf returns where a token stands.
func SpanOf(tk *token.Token) Span {
	if tk == nil || tk.Position == nil {
		return Span{Line: 1, Column: 1, Length: 1}
	}
	length := utf8.RuneCountInString(strings.TrimSpace(tk.Value))
	if tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType {
		length += 2
	}
	return Span{Line: max(1, tk.Position.Line), Column: max(1, tk.Position.Column), Length: max(1, length)}
}

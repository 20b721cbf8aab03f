package language

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"collect/connectors/declarative/internal/notation"
	"collect/internal/yamlfile"
)

// Values are a value, or a list of them for a parameter that is sent several
// times.
type Values struct {
	All  []yamlfile.Scalar
	Null bool // there is none, and none of the defaults
}

func (v *Values) Read(d *yamlfile.Decoder, n ast.Node) {
	one := func(n ast.Node) {
		var s yamlfile.Scalar
		if s.Read(d, n); s.Set {
			v.All = append(v.All, s)
		}
	}
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		one(n)
		v.Null = len(v.All) == 1 && v.All[0].Null
		return
	}
	for _, item := range list.Values {
		one(item)
	}
	if len(list.Values) == 0 || slices.ContainsFunc(v.All, func(s yamlfile.Scalar) bool { return s.Null }) {
		d.Fail(yamlfile.SpanOf(n.GetToken()), "a list needs at least one value, and none that is null", "")
	}
}

// A JSON is a value of a JSON body: one of its fields is set.
type JSON struct {
	Members  yamlfile.Ordered[JSON]
	Items    []JSON
	Text     yamlfile.Scalar // a text, in which references may stand
	Constant json.RawMessage
}

func (j *JSON) Read(d *yamlfile.Decoder, n ast.Node) {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		if j.Members.Read(d, n); len(j.Members) == 0 {
			j.Constant = json.RawMessage("{}")
		}
	case *ast.SequenceNode:
		for _, item := range n.Values {
			var value JSON
			value.Read(d, item)
			j.Items = append(j.Items, value)
		}
		if len(j.Items) == 0 {
			j.Constant = json.RawMessage("[]")
		}
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		j.Constant = constant(d, n)
	default:
		j.Text.Read(d, n)
	}
}

// constant returns a number, a truth value or null as JSON writes it. The digits
// of a number stay as they are.
func constant(d *yamlfile.Decoder, n ast.Node) json.RawMessage {
	var s yamlfile.Scalar
	s.Read(d, n)
	switch n := n.(type) {
	case *ast.NullNode:
		return json.RawMessage("null")
	case *ast.BoolNode:
		return json.RawMessage(strconv.FormatBool(n.Value))
	}
	if raw := json.RawMessage(s.Text); json.Valid(raw) {
		return raw
	}
	d.Fail(s.At, "this is no number of JSON; for a text, put it between quotes", "")
	return nil
}

// A bodySpec is a JSON body: an object or an array.
type bodySpec struct{ JSON }

func (b *bodySpec) Read(d *yamlfile.Decoder, n ast.Node) {
	b.JSON.Read(d, n)
	if empty := string(b.Constant); b.Members == nil && b.Items == nil && empty != "{}" && empty != "[]" {
		d.Fail(yamlfile.SpanOf(n.GetToken()), "a JSON body is a mapping or a list", "")
	}
}

// A loginBody is a JSON body that may hold secrets.
type loginBody struct{ bodySpec }

func (*loginBody) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	const name = "loginJSON"
	self := yamlfile.Keywords{"$ref": "#/definitions/" + name}
	s[name] = jsonOf(self, (&notation.Template{}).Shape(s))
	return yamlfile.Keywords{"allOf": []yamlfile.Keywords{self, {"type": []string{"object", "array"}}}}
}

// Texts calls see with each text of a value, and the name of its member; "" for an
// element of a list.
func (j JSON) Texts(name string, see func(name string, text yamlfile.Scalar)) {
	for _, m := range j.Members {
		m.Value.Texts(m.Key.Text, see)
	}
	for _, item := range j.Items {
		item.Texts("", see)
	}
	if j.Text.Set {
		see(name, j.Text)
	}
}

func (*Values) Shape(yamlfile.Schemas) yamlfile.Keywords {
	item := yamlfile.Keywords{"allOf": []yamlfile.Keywords{plain(), yamlfile.Not(yamlfile.Keywords{"type": "null"})}}
	return yamlfile.AnyOf(plain(), yamlfile.Keywords{"type": "array", "items": item, "minItems": 1})
}

func (*JSON) Shape(yamlfile.Schemas) yamlfile.Keywords {
	return jsonOf(yamlfile.Keywords{"$ref": "#/definitions/jSONValue"}, plain())
}

// jsonOf returns the schema self of a value of a JSON body, with these single values
// in it.
func jsonOf(self, single yamlfile.Keywords) yamlfile.Keywords {
	return yamlfile.AnyOf(
		single,
		yamlfile.Keywords{"type": "array", "items": self},
		yamlfile.Keywords{"type": "object", "additionalProperties": self, "propertyNames": yamlfile.Keywords{"minLength": 1}},
	)
}

func (*bodySpec) Shape(s yamlfile.Schemas) yamlfile.Keywords {
	return yamlfile.Keywords{"allOf": []yamlfile.Keywords{s.Of(reflect.TypeFor[JSON]()), {"type": []string{"object", "array"}}}}
}

package declarative

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

//go:generate sh -c "go run collect connectors schema >connector.schema.json"
//go:generate go test -run TestReferencePage . -update

// Schema returns the JSON Schema of the connector language, for editors and
// other programs that write connector files.
//
// It is made from the structs that the reader fills and from the tables that
// the checker looks into, so that neither can have a key or a value that the
// other lacks. It knows shape only: what one part of a file says of another,
// such as the name of a stream in `each`, is found by [Parse].
//
// It is of draft 7, the newest that all editors read.
func Schema() []byte {
	s := schemas{}
	root := s.block(reflect.TypeFor[document]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["definitions"] = s
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(root) // maps, lists, texts and numbers always encode
	return b.Bytes()
}

// Schemas are the blocks of the language by their names.
type schemas map[string]any

// Keywords are a JSON Schema: what has to hold, by keyword.
type keywords map[string]any

// A shaped leaf says which values it reads.
type shaped interface {
	shape(s schemas) keywords
}

// A refined block says what its fields do not.
type refined interface {
	refine(k keywords)
}

// of returns the schema of what the decoder reads into a t: it follows
// [decoder.value].
func (s schemas) of(t reflect.Type) keywords {
	switch t.Kind() {
	case reflect.Pointer:
		return anyOf(keywords{"type": "null"}, s.of(t.Elem()))
	case reflect.Slice:
		if t.Name() == "" {
			return keywords{"type": "array", "items": s.of(t.Elem())}
		}
	}
	leaf, ok := reflect.New(t).Interface().(shaped)
	switch {
	case !ok:
		return s.named(strings.TrimSuffix(t.Name(), "Spec"), func() keywords { return s.block(t) })
	case strings.Contains(t.Name(), "["):
		return leaf.shape(s) // a mapping has no name of its own
	}
	return s.named(t.Name()+"Value", func() keywords { return leaf.shape(s) })
}

// named returns a reference to a definition.
func (s schemas) named(name string, make func() keywords) keywords {
	if _, ok := s[name]; !ok {
		s[name] = make()
	}
	return keywords{"$ref": "#/definitions/" + name}
}

// block returns the schema of a mapping whose keys are the fields of t: it
// follows [decoder.block].
func (s schemas) block(t reflect.Type) keywords {
	properties := map[string]any{}
	k := keywords{
		"title": t.Field(0).Tag.Get("block"), "type": []string{"object", "null"},
		"properties": properties, "additionalProperties": false,
	}
	for field := range t.Fields() {
		if key := field.Tag.Get("yaml"); key != "" {
			properties[key] = s.of(field.Type)
		}
	}
	if r, ok := reflect.New(t).Interface().(refined); ok {
		r.refine(k)
	}
	for field := range t.Fields() {
		key := field.Tag.Get("yaml")
		if p, ok := properties[key].(keywords); ok { // a key that is not supported yet has none
			properties[key] = described(p, aboutOf(field.Tag))
		}
	}
	return k
}

// aboutOf returns what a key means, and what holds without it.
func aboutOf(tag reflect.StructTag) string {
	about, without := tag.Get("about"), tag.Get("default")
	switch {
	case without == "" || without == "none":
		return about
	case strings.HasPrefix(without, "required"):
		return about + " (" + without + ")"
	}
	return about + " (default: " + without + ")"
}

// described returns k with what an editor shows of it. In draft 7 nothing beside
// a reference counts, so that one stands in a list of its own.
func described(k keywords, about string) keywords {
	if _, ok := k["$ref"]; ok {
		k = keywords{"allOf": []any{k}}
	}
	k["description"] = about
	return k
}

// What the leaves read. A value may be written with or without quotes, so that
// a text is where a number is, if it reads as one.

func single() []string { return []string{"string", "number", "boolean", "null"} }

func (*scalar) shape(schemas) keywords { return keywords{"type": single()} }

func (*name) shape(schemas) keywords {
	return keywords{"type": []string{"string", "boolean"}, "pattern": names.String()} // true is a name, too
}

func (*recordsPath) shape(s schemas) keywords {
	return anyOf(s.of(reflect.TypeFor[path]()), keywords{"type": "null"})
}

func (*flag) shape(schemas) keywords { return oneOf("true", "false") }

func (*count) shape(schemas) keywords   { return whole(1, math.MaxInt32) }
func (*natural) shape(schemas) keywords { return whole(0, math.MaxInt32) }

func (*number) shape(schemas) keywords { return numberFrom(math.SmallestNonzeroFloat64) }

func (*percent) shape(schemas) keywords {
	return text(`^\+?0*[0-9]{0,2}(\.[0-9]*)?\s*%$`, `[1-9]`)
}

func (*duration) shape(schemas) keywords {
	return text(`^(\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|\+?[0-9]+d)$`, `[1-9]`)
}

func (*size) shape(schemas) keywords {
	return anyOf(keywords{"type": "integer", "minimum": 1, "maximum": mostBytes}, text(`^[0-9]+ *([KMG]i?)?B? *$`, `[1-9]`))
}

// step is one name of a path, of which a backslash may hide the dot.
const step = `([^.\\]|\\.)+`

func (*path) shape(schemas) keywords {
	return keywords{"type": []string{"string", "number", "boolean"}, "pattern": `^` + step + `(\.` + step + `)*\\?$`}
}

func (k *keySpec) shape(s schemas) keywords {
	one := s.of(reflect.TypeFor[path]())
	return anyOf(one, keywords{"type": "array", "items": one, "minItems": 1})
}

// A template ends what it begins. That a credential stands in auth only is said
// where templates are: see [plain].
func (*template) shape(schemas) keywords {
	return keywords{"type": single(), "not": unended()}
}

func unended() keywords { return keywords{"type": "string", "pattern": `\$\{[^}]*$`} }

// A mapping with free keys has none that is empty.
func (o *ordered[T]) shape(s schemas) keywords {
	return keywords{
		"type": []string{"object", "null"}, "additionalProperties": s.of(reflect.TypeFor[T]()),
		"propertyNames": keywords{"minLength": 1},
	}
}

func (c *clampSpec) shape(s schemas) keywords {
	return anyOf(keywords{"enum": []any{"off", false}}, s.block(reflect.TypeFor[clampSpec]()))
}

func (a *authSpec) shape(s schemas) keywords {
	return anyOf(keywords{"const": "none"}, s.block(reflect.TypeFor[authSpec]()))
}

func (n *nextURLSpec) shape(s schemas) keywords {
	return anyOf(s.of(reflect.TypeFor[path]()), s.block(reflect.TypeFor[nextURLSpec]()))
}

func (p *probeSpec) shape(s schemas) keywords {
	return anyOf(belowBase(), s.block(reflect.TypeFor[probeSpec]()))
}

func (h *headerSpec) shape(s schemas) keywords {
	return anyOf(keywords{"type": single()}, s.block(reflect.TypeFor[headerSpec]()))
}

// The words of a schema.

func anyOf(of ...keywords) keywords { return keywords{"anyOf": of} }

// oneOf is one of some texts. YAML reads true and false without quotes as
// something else.
func oneOf(texts ...string) keywords {
	var values []any
	for _, t := range texts {
		values = append(values, t)
		if t == "true" || t == "false" {
			values = append(values, t == "true")
		}
	}
	return keywords{"enum": values}
}

// text is a text that matches all patterns.
func text(patterns ...string) keywords {
	k := keywords{"type": "string", "pattern": patterns[0]}
	for _, p := range patterns[1:] {
		k["allOf"] = append(list(k["allOf"]), keywords{"pattern": p})
	}
	return k
}

// whole is a whole number.
func whole(from, to int) keywords {
	digits := text(`^\+?[0-9_]+$`)
	if from > 0 {
		digits = text(`^\+?[0-9_]+$`, `[1-9]`)
	}
	return anyOf(keywords{"type": "integer", "minimum": from, "maximum": to}, digits)
}

// numberFrom is a decimal number that is not less.
func numberFrom(least float64) keywords {
	return anyOf(
		keywords{"type": "number", "minimum": least, "maximum": math.MaxFloat64},
		text(`^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE]\+?[0-9]+)?$`, `^[^eE]*[1-9]`),
	)
}

func list(v any) []keywords {
	l, _ := v.([]keywords)
	return l
}

package yamlfile

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

// SchemaOf returns the JSON Schema of a file that is read into a t. It is of
// draft 7, the newest that all editors read.
func SchemaOf(t reflect.Type) []byte {
	s := Schemas{}
	root := s.Block(t)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["definitions"] = s
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(root) // maps, lists, texts and numbers always encode
	return b.Bytes()
}

// Schemas are the blocks of a file by their names.
type Schemas map[string]any

// Keywords are a JSON Schema: what has to hold, by keyword.
type Keywords map[string]any

// A shaped leaf says which values it reads.
type shaped interface {
	Shape(s Schemas) Keywords
}

// A refined block says what its fields do not.
type refined interface {
	Refine(k Keywords)
}

// Of returns the schema of what the decoder reads into a t: it follows
// [Decoder.Value].
func (s Schemas) Of(t reflect.Type) Keywords {
	switch t.Kind() {
	case reflect.Pointer:
		return AnyOf(Keywords{"type": "null"}, s.Of(t.Elem()))
	case reflect.Slice:
		if t.Name() == "" {
			return Keywords{"type": "array", "items": s.Of(t.Elem())}
		}
	}
	leaf, ok := reflect.New(t).Interface().(shaped)
	switch {
	case !ok:
		return s.named(strings.TrimSuffix(lower(t.Name()), "Spec"), func() Keywords { return s.Block(t) })
	case strings.Contains(t.Name(), "["):
		return leaf.Shape(s) // a mapping has no name of its own
	}
	return s.named(lower(t.Name())+"Value", func() Keywords { return leaf.Shape(s) })
}

// named returns a reference to a definition.
func (s Schemas) named(name string, make func() Keywords) Keywords {
	if _, ok := s[name]; !ok {
		s[name] = make()
	}
	return Keywords{"$ref": "#/definitions/" + name}
}

// Block returns the schema of a mapping whose keys are the fields of t: it
// follows [Decoder.Block].
func (s Schemas) Block(t reflect.Type) Keywords {
	properties := map[string]any{}
	k := Keywords{
		"title": t.Field(0).Tag.Get("block"), "type": []string{"object", "null"},
		"properties": properties, "additionalProperties": false,
	}
	for _, field := range reflect.VisibleFields(t) {
		if key := field.Tag.Get("yaml"); key != "" {
			properties[key] = s.Of(field.Type)
		}
	}
	if r, ok := reflect.New(t).Interface().(refined); ok {
		r.Refine(k)
	}
	for _, field := range reflect.VisibleFields(t) {
		key := field.Tag.Get("yaml")
		if p, ok := properties[key].(Keywords); ok { // a key that is not supported yet has none
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
func described(k Keywords, about string) Keywords {
	if _, ok := k["$ref"]; ok {
		k = Keywords{"allOf": []any{k}}
	}
	k["description"] = about
	return k
}

// What the leaves read. A value may be written with or without quotes, so that
// a text is where a number is, if it reads as one.

// Single are the types of a single value.
func Single() []string { return []string{"string", "number", "boolean", "null"} }

func (*Scalar) Shape(Schemas) Keywords { return Keywords{"type": Single()} }

func (*Texts) Shape(Schemas) Keywords {
	one := Keywords{"type": Single()}
	return AnyOf(one, Keywords{"type": "array", "items": NonEmpty(one), "minItems": 1, "uniqueItems": true})
}

func (*Flag) Shape(Schemas) Keywords { return OneOf("true", "false") }

func (*Count) Shape(Schemas) Keywords   { return Whole(1, math.MaxInt32) }
func (*Natural) Shape(Schemas) Keywords { return Whole(0, math.MaxInt32) }

func (*Number) Shape(Schemas) Keywords { return NumberFrom(math.SmallestNonzeroFloat64) }

func (*Percent) Shape(Schemas) Keywords {
	return Text(`^\+?0*[0-9]{0,2}(\.[0-9]*)?\s*%$`, `[1-9]`)
}

func (*Duration) Shape(Schemas) Keywords {
	return Text(`^(\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|\+?[0-9]+d)$`, `[1-9]`)
}

func (*Size) Shape(Schemas) Keywords {
	return AnyOf(Keywords{"type": "integer", "minimum": 1, "maximum": mostBytes}, Text(`^[0-9]+ *([KMG]i?)?B? *$`, `[1-9]`))
}

// A mapping with free keys has none that is empty.
func (o *Ordered[T]) Shape(s Schemas) Keywords {
	return Keywords{
		"type": []string{"object", "null"}, "additionalProperties": s.Of(reflect.TypeFor[T]()),
		"propertyNames": Keywords{"minLength": 1},
	}
}

// The words of a schema.

// AnyOf holds where one of the others does.
func AnyOf(of ...Keywords) Keywords { return Keywords{"anyOf": of} }

// OneOf is one of some texts. YAML reads true and false without quotes as
// something else.
func OneOf(texts ...string) Keywords {
	var values []any
	for _, t := range texts {
		values = append(values, t)
		if t == "true" || t == "false" {
			values = append(values, t == "true")
		}
	}
	return Keywords{"enum": values}
}

// Text is a text that matches all patterns.
func Text(patterns ...string) Keywords {
	k := Keywords{"type": "string", "pattern": patterns[0]}
	for _, p := range patterns[1:] {
		k["allOf"] = append(list(k["allOf"]), Keywords{"pattern": p})
	}
	return k
}

// Whole is a whole number.
func Whole(from, to int) Keywords {
	digits := Text(`^\+?[0-9_]+$`)
	if from > 0 {
		digits = Text(`^\+?[0-9_]+$`, `[1-9]`)
	}
	return AnyOf(Keywords{"type": "integer", "minimum": from, "maximum": to}, digits)
}

// NumberFrom is a decimal number that is not less.
func NumberFrom(least float64) Keywords {
	return AnyOf(
		Keywords{"type": "number", "minimum": least, "maximum": math.MaxFloat64},
		Text(`^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE]\+?[0-9]+)?$`, `^[^eE]*[1-9]`),
	)
}

func list(v any) []Keywords {
	l, _ := v.([]Keywords)
	return l
}

// Need says which keys a block cannot do without.
func (k Keywords) Need(keys ...string) {
	k["type"] = "object"
	k["required"] = keys
}

// Property returns what holds for the value of a key.
func (k Keywords) Property(key string) Keywords {
	return k["properties"].(map[string]any)[key].(Keywords)
}

// Set replaces what holds for the value of a key.
func (k Keywords) Set(key string, value Keywords) {
	k["properties"].(map[string]any)[key] = value
}

// And adds what has to hold as well.
func (k Keywords) And(more Keywords) { k["allOf"] = append(list(k["allOf"]), more) }

// Not holds where k does not.
func Not(k Keywords) Keywords { return Keywords{"not": k} }

// Given holds for a mapping that has key, and something under it.
func Given(key string) Keywords { return With(key, Not(Keywords{"enum": []any{"", nil}})) }

// With holds for a mapping that has key, and under it what value says.
func With(key string, value Keywords) Keywords {
	return Keywords{"required": []string{key}, "properties": Keywords{key: value}}
}

// In holds for a mapping that has another mapping under key, for which k holds.
func In(key string, k Keywords) Keywords {
	return With(key, Keywords{"type": "object", "allOf": []Keywords{k}})
}

// InEach holds if k holds for each value of the mapping under key.
func InEach(key string, k Keywords) Keywords {
	return Keywords{"properties": Keywords{key: Keywords{"additionalProperties": k}}}
}

// NonEmpty is k without empty values.
func NonEmpty(k Keywords) Keywords {
	return Keywords{"allOf": []Keywords{k, Not(Keywords{"enum": []any{"", nil}})}}
}

// lower returns a name as a definition has it: of a type, which may be exported.
func lower(name string) string { return strings.ToLower(name[:1]) + name[1:] }

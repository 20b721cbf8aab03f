package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"collect/internal/words"
)

// Longest is the longest description that is read, in bytes.
const Longest = 32 << 20

// An object of the description.
type object = map[string]any

// A document is a description whose references are followed when they are met.
type document struct{ root object }

// parse reads a description in JSON or YAML.
func parse(src []byte) (*document, error) {
	if len(src) > Longest {
		return nil, fmt.Errorf("the description is longer than %d bytes", Longest)
	}
	var d document
	if trimmed := bytes.TrimSpace(src); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		decoder := json.NewDecoder(bytes.NewReader(trimmed))
		decoder.UseNumber()
		if err := decoder.Decode(&d.root); err != nil {
			return nil, errors.New("not JSON")
		}
	} else if err := yaml.Unmarshal(src, &d.root); err != nil {
		return nil, errors.New(words.Clean(err.Error()))
	}
	if text(d.root["openapi"]) == "" && text(d.root["swagger"]) == "" {
		return nil, errors.New("neither `openapi` nor `swagger` stands in it: it is no OpenAPI description")
	}
	return &d, nil
}

// mostHops bounds how many references lead to one value.
const mostHops = 20

// at returns the object that v is or refers to. What refers elsewhere than into the
// description, to nothing or in a circle is an empty one.
func (d *document) at(v any) object {
	for range mostHops {
		o := asObject(v)
		ref, ok := o["$ref"].(string)
		if !ok {
			return o
		}
		pointer, ok := strings.CutPrefix(ref, "#/")
		if !ok {
			return nil
		}
		v = d.root
		for step := range strings.SplitSeq(pointer, "/") {
			v = asObject(v)[strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(step)]
		}
	}
	return nil
}

// asObject returns v as an object. YAML may have numbers as names: those of statuses.
func asObject(v any) object {
	switch v := v.(type) {
	case object:
		return v
	case map[any]any:
		o := make(object, len(v))
		for key, value := range v {
			o[fmt.Sprint(key)] = value
		}
		return o
	}
	return nil
}

func list(v any) []any {
	items, _ := v.([]any)
	return items
}

// text returns a scalar as text; "" for what is none.
func text(v any) string {
	switch v := v.(type) {
	case nil, []any, object, map[any]any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// A shape is what a schema says of its values, with all of its parts.
type shape struct {
	kind       string // array, object, string …
	properties object
	required   []string
	items      any // the schema of the elements of an array
	own        object
}

// mostParts bounds the schemas that one schema is put together of.
const mostParts = 64

// shape puts a schema together: allOf says what all hold, and of oneOf and anyOf the
// first one stands for the rest.
func (d *document) shape(schema any) shape {
	s := shape{properties: object{}, own: d.at(schema)}
	parts := []any{schema}
	for n := 0; n < len(parts) && n < mostParts; n++ {
		o := d.at(parts[n])
		for _, kind := range append(list(o["type"]), o["type"]) { // of 3.1 a list, with null in it
			if name := text(kind); name != "" && name != "null" && s.kind == "" {
				s.kind = name
			}
		}
		for name, property := range asObject(o["properties"]) {
			if s.properties[name] == nil {
				s.properties[name] = property
			}
		}
		for _, name := range list(o["required"]) {
			s.required = append(s.required, text(name))
		}
		if s.items == nil {
			s.items = o["items"]
		}
		parts = append(parts, list(o["allOf"])...)
		for _, key := range []string{"oneOf", "anyOf"} {
			for _, alternative := range list(o[key]) {
				if a := d.at(alternative); text(a["type"]) != "null" {
					parts = append(parts, alternative)
					break
				}
			}
		}
	}
	switch {
	case s.kind == "" && s.items != nil:
		s.kind = "array"
	case s.kind == "" && len(s.properties) > 0:
		s.kind = "object"
	}
	return s
}

func (s shape) isObject() bool { return s.kind == "object" && len(s.properties) > 0 }

// A found array of objects.
type found struct {
	path string
	item shape
	why  string
}

// mostLooked bounds the schemas that are looked at for the list in one answer.
const mostLooked = 500

// holders are the names of the array of records.
var holders = []string{"data", "items", "results", "records", "values", "entries", "list", "content", "rows", "value", "elements", "objects", "hits", "nodes"}

// records finds the array of records in an answer: the one that is nearest to the
// top. Of several the one with a usual name or that of the stream is taken.
func (d *document) records(answer shape, stream string) (found, bool) {
	type level struct {
		path string
		shape
	}
	if answer.kind == "array" {
		item := d.shape(answer.items)
		return found{item: item, why: "the answer is the array"}, item.isObject()
	}
	looked := 0
	for depth, now := 0, []level{{shape: answer}}; depth < 3 && len(now) > 0; depth++ {
		var arrays []found
		var names []string
		var deeper []level
		for _, l := range now {
			for _, name := range slices.Sorted(maps.Keys(l.properties)) {
				if looked++; looked > mostLooked {
					return found{}, false
				}
				inner := d.shape(l.properties[name])
				path := below(l.path, name)
				if item := d.shape(inner.items); inner.kind == "array" && item.isObject() {
					arrays, names = append(arrays, found{path, item, "an array of objects"}), append(names, name)
				} else if inner.isObject() {
					deeper = append(deeper, level{path, inner})
				}
			}
		}
		for _, name := range append([]string{stream}, holders...) {
			if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
				return arrays[i], true
			}
		}
		if record := answer.properties["id"] != nil; len(arrays) == 1 && !record {
			return arrays[0], true
		} else if len(arrays) > 0 {
			return found{}, false // fields of one object
		}
		now = deeper
	}
	return found{}, false
}

// property returns the schema at a path of an answer.
func (d *document) property(s shape, path string) (shape, bool) {
	for step := range strings.SplitSeq(strings.ReplaceAll(path, `\.`, "\x00"), ".") {
		inner, ok := s.properties[strings.ReplaceAll(step, "\x00", ".")]
		if !ok {
			return shape{}, false
		}
		s = d.shape(inner)
	}
	return s, true
}

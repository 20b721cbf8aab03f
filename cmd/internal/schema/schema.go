// Package schema describes what commands print as JSON Schema (2020-12), from the Go
// types that they print.
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"collect/internal/jsonout"
)

// dialect is the version of JSON Schema.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// A Schema is a JSON Schema that can be printed.
type Schema = jsonschema.Schema

// known are the schemas of types that write their own JSON.
var known = map[reflect.Type]*Schema{
	reflect.TypeFor[json.RawMessage](): {}, // what a provider sent
	reflect.TypeFor[jsonout.Time]():    {Types: []string{"null", "string"}, Format: "date-time"},
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
}

// Of returns the schema of what is printed of values like these, an object or a list
// of objects: one of them, if there are several. A field may be added within a
// version, so that a program must pass over what it does not know.
func Of(title string, values ...any) *Schema {
	var all []*Schema
	for _, v := range values {
		s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: known})
		if err != nil {
			panic(fmt.Sprintf("schema of %s: %v", title, err)) // a type of ours that no JSON has
		}
		object := s
		if s.Items != nil {
			s.Types, s.Type, object = nil, "array", s.Items // an empty list is [], and never null
		}
		object.Types, object.Type = nil, "object"
		if object.Properties["v"] == nil {
			object.Properties["v"] = &Schema{Type: "integer"}
			object.Required = append(object.Required, "v")
			object.PropertyOrder = append([]string{"v"}, object.PropertyOrder...)
		}
		open(s)
		all = append(all, s)
	}
	root := all[0]
	if len(all) > 1 {
		root = &Schema{AnyOf: all}
	}
	root.Schema, root.Title = dialect, title
	return root
}

// open lets objects have fields that the schema does not name.
func open(s *Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	open(s.Items)
	open(s.AdditionalProperties)
}

// Fields returns the names of the fields of the objects that a schema describes, in
// their order.
func Fields(s *Schema) (names []string) {
	for _, one := range append([]*Schema{s}, s.AnyOf...) {
		if one.Items != nil {
			one = one.Items
		}
		for _, name := range one.PropertyOrder {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

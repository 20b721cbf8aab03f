package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SchemaVersion is the version of JSON Schema that descriptions are written in.
const SchemaVersion = "https://json-schema.org/draft/2020-12/schema"

// Describe returns a JSON Schema of the records of a stream as they are stored, and
// their number. Each of the records is valid by it, and it says as much as that
// allows: which types each field has, which fields every object had, and which texts
// were dates with a time (RFC 3339) throughout. An object with more than 500 fields
// is taken for a map, of whose members the first 500 are described.
func Describe(ctx context.Context, r Source, connector, stream string) (schema map[string]any, n int64, err error) {
	of := &seen{}
	for record, err := range r.Records(ctx, connector, stream) {
		if err != nil {
			return nil, n, err
		}
		var value any
		decoder := json.NewDecoder(bytes.NewReader(record.Data))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			return nil, n, fmt.Errorf("a record of %s is no JSON: %w", stream, err)
		}
		of.add(value, 0)
		n++
	}
	schema = of.schema()
	schema["$schema"], schema["title"] = SchemaVersion, connector+"/"+stream
	if n == 0 {
		schema["$comment"] = "no record is stored"
	}
	return schema, n, nil
}

// Bounds of a description.
const (
	mostMembers = 500 // of one object
	mostDepth   = 32
)

// seen is what the values at one place of the records were.
type seen struct {
	null, boolean, integer, number, text bool

	plain   bool // a text was no date with a time
	objects int
	members map[string]*seen
	present map[string]int // the objects that had each member
	array   bool
	items   *seen // nil: no array had an element, or they are too deep
}

// add takes in one more value.
func (s *seen) add(value any, depth int) {
	switch value := value.(type) {
	case nil:
		s.null = true
	case bool:
		s.boolean = true
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			s.number = true
		} else {
			s.integer = true
		}
	case string:
		s.text = true
		s.plain = s.plain || !dateTime(value)
	case []any:
		s.array = true
		if s.items == nil && len(value) > 0 && depth < mostDepth {
			s.items = &seen{}
		}
		for _, element := range value {
			if s.items != nil {
				s.items.add(element, depth+1)
			}
		}
	case map[string]any:
		s.objects++
		if s.members == nil {
			s.members, s.present = map[string]*seen{}, map[string]int{}
		}
		for name, member := range value {
			of := s.members[name]
			if of == nil && (len(s.members) >= mostMembers || depth >= mostDepth) {
				continue
			}
			if of == nil {
				of = &seen{}
				s.members[name] = of
			}
			s.present[name]++
			of.add(member, depth+1)
		}
	}
}

// schema describes the values.
func (s *seen) schema() map[string]any {
	of := map[string]any{}
	var types []string
	for _, t := range []struct {
		name string
		is   bool
	}{
		{"object", s.objects > 0}, {"array", s.array}, {"string", s.text}, {"number", s.number},
		{"integer", s.integer && !s.number}, {"boolean", s.boolean}, {"null", s.null},
	} {
		if t.is {
			types = append(types, t.name)
		}
	}
	switch len(types) {
	case 0:
	case 1:
		of["type"] = types[0]
	default:
		of["type"] = types
	}
	if s.text && !s.plain {
		of["format"] = "date-time"
	}
	if s.items != nil {
		of["items"] = s.items.schema()
	}
	if s.objects > 0 {
		members, required := map[string]any{}, []string{}
		for name, member := range s.members {
			members[name] = member.schema()
			if s.present[name] == s.objects {
				required = append(required, name)
			}
		}
		slices.Sort(required)
		of["properties"], of["required"] = members, required
	}
	return of
}

// dateTime reports whether text is a date with a time as RFC 3339 writes it, which
// is what JSON Schema calls date-time.
func dateTime(text string) bool {
	if len(text) < len("2006-01-02T15:04:05Z") || text[4] != '-' {
		return false
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

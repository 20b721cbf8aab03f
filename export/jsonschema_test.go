package export_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strconv"
	"strings"
	"testing"

	"collect/export"
	"collect/store"
)

// A memory is a source of records in memory.
type memory struct {
	records []store.Stored
	err     error // behind the records
}

func (m *memory) add(key, data string) {
	m.records = append(m.records, store.Stored{Record: record(key, data)})
}

func (*memory) Fields(context.Context, string, string) ([]string, error) { return nil, nil }

func (m *memory) Records(context.Context, string, string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) {
		for _, r := range m.records {
			if !yield(r, nil) {
				return
			}
		}
		if m.err != nil {
			yield(store.Stored{}, m.err)
		}
	}
}

func TestDescribe(t *testing.T) {
	tests := []struct {
		name    string
		records []string
		want    string // the schema, without what all of them have
	}{
		{"none", nil, `{"$comment":"no record is stored"}`},
		{"types", []string{`{"a":1,"b":"x","c":true,"d":null,"e":[],"f":{}}`},
			`{"properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"},"d":{"type":"null"},"e":{"type":"array"},"f":{"properties":{},"required":[],"type":"object"}},"required":["a","b","c","d","e","f"],"type":"object"}`},
		{"a field that is missing once", []string{`{"a":1,"b":1}`, `{"a":2}`},
			`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a"],"type":"object"}`},
		{"a field that came late", []string{`{}`, `{"a":2}`},
			`{"properties":{"a":{"type":"integer"}},"required":[],"type":"object"}`},
		{"null, a fraction, and several types", []string{`{"a":1}`, `{"a":1.5}`, `{"a":null}`, `{"a":"x"}`},
			`{"properties":{"a":{"type":["string","number","null"]}},"required":["a"],"type":"object"}`},
		{"times", []string{`{"a":"2026-01-02T03:04:05Z","b":"2026-01-02T03:04:05+01:00","c":"2026-01-02"}`, `{"a":"2026-01-02T03:04:05.123Z","b":"soon","c":"2026-01-03"}`},
			`{"properties":{"a":{"format":"date-time","type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"required":["a","b","c"],"type":"object"}`},
		{"inside", []string{`{"a":[{"b":1},{"b":2,"c":3}]}`, `{"a":[]}`},
			`{"properties":{"a":{"items":{"properties":{"b":{"type":"integer"},"c":{"type":"integer"}},"required":["b"],"type":"object"},"type":"array"}},"required":["a"],"type":"object"}`},
	}
	for _, test := range tests {
		var source memory
		for i, data := range test.records {
			source.add(strconv.Itoa(i), data)
		}
		schema, n, err := export.Describe(t.Context(), &source, "acme", "things")
		if err != nil || n != int64(len(test.records)) || schema["$schema"] != "https://json-schema.org/draft/2020-12/schema" || schema["title"] != "acme/things" {
			t.Fatalf("%s: %v of %d records, %v", test.name, schema, n, err)
		}
		delete(schema, "$schema")
		delete(schema, "title")
		got, err := json.Marshal(schema)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, want %s (%v)", test.name, got, test.want, err)
		}
	}
}

// Objects that are used as maps, and deep ones, are described in part, and nothing
// that is not described is forbidden.
func TestDescribeIsBounded(t *testing.T) {
	var source memory
	for i := range 600 {
		source.add(strconv.Itoa(i), `{"k`+strconv.Itoa(i)+`":1}`)
	}
	source.add("deep", strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100))
	schema, _, err := export.Describe(t.Context(), &source, "acme", "things")
	if err != nil || len(schema["properties"].(map[string]any)) != 500 || len(schema["required"].([]string)) != 0 {
		t.Errorf("%d fields of 601 are described, and %v required (%v)", len(schema["properties"].(map[string]any)), schema["required"], err)
	}
	source = memory{}
	source.add("deep", strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100))
	schema, _, err = export.Describe(t.Context(), &source, "acme", "things")
	text, _ := json.Marshal(schema)
	if n := strings.Count(string(text), `"a":{`); err != nil || n != 32 {
		t.Errorf("%d of 100 levels are described, want 32 (%v)", n, err)
	}
}

func TestDescribeFails(t *testing.T) {
	source := memory{err: errors.New("damaged")}
	source.add("1", `{}`)
	if schema, _, err := export.Describe(t.Context(), &source, "acme", "things"); err == nil {
		t.Errorf("of a damaged store it is %v", schema)
	}
}

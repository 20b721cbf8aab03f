package collection_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"collect/collection"
)

// sample returns a sample of n records with these fields: name=kind, or a name
// alone for null.
func sample(n int, fields ...string) *collection.Sample {
	s := &collection.Sample{}
	for range n {
		s.Begin()
		for _, f := range fields {
			name, kind, _ := strings.Cut(f, "=")
			k, _ := collection.ParseJSONKind(kind)
			if kind == "" {
				k = 0
			}
			s.Saw(name, k)
		}
	}
	return s
}

func TestSchemaChanges(t *testing.T) {
	usual := sample(100, "id=number", "priority=number", "note")
	tests := []struct {
		name   string
		before []*collection.Sample
		page   *collection.Sample
		want   string
	}{
		{"the same", []*collection.Sample{usual}, sample(50, "id=number", "priority=number", "note"), ""},
		{"another kind", []*collection.Sample{usual}, sample(50, "id=number", "priority=string", "note"), "priority: number to string, 50"},
		{"too few records now", []*collection.Sample{usual}, sample(9, "id=number", "priority=string", "note"), ""},
		{"too few records before", []*collection.Sample{sample(99, "id=number", "priority=number")}, sample(50, "id=number", "priority=string"), ""},
		{"null is no change", []*collection.Sample{usual}, sample(50, "id=number", "priority", "note=string"), ""},
		{"some null, the others of another kind", []*collection.Sample{usual}, sample(38, "id=number", "priority", "note").Plus(sample(12, "id=number", "priority=string", "note")), "priority: number to string, 12"},
		{"some of both kinds", []*collection.Sample{usual}, sample(49, "id=number", "priority=string", "note").Plus(sample(1, "id=number", "priority=number", "note")), ""},
		{"it had two kinds before", []*collection.Sample{usual, sample(1, "id=number", "priority=string", "note")}, sample(50, "id=number", "priority=string", "note"), ""},
		{"neither of the kinds before", []*collection.Sample{usual, sample(1, "id=number", "priority=string", "note")}, sample(50, "id=number", "priority=array", "note"), "priority: string or number to array, 50"},
		{"missing", []*collection.Sample{usual}, sample(50, "id=number", "priority=number"), "note: missing"},
		{"missing from some", []*collection.Sample{usual}, sample(49, "id=number", "priority=number").Plus(sample(1, "id=number", "priority=number", "note")), ""},
		{"it was missing once before", []*collection.Sample{usual, sample(1, "id=number", "priority=number")}, sample(50, "id=number", "priority=number"), ""},
		{"it came later", []*collection.Sample{sample(5, "id=number"), sample(200, "id=number", "late=number")}, sample(50, "id=number"), ""},
		{"it came later, and has one kind", []*collection.Sample{sample(5, "id=number"), sample(200, "id=number", "late=number")}, sample(50, "id=number", "late=array"), "late: number to array, 50"},
		{"a new field", []*collection.Sample{usual}, sample(50, "id=number", "priority=number", "note", "new=object"), ""},
		{"all of it", []*collection.Sample{usual}, sample(50, "uuid=string"), "id: missing, note: missing, priority: missing"},
		{"nothing", []*collection.Sample{usual}, sample(0), ""},
		{"another order", []*collection.Sample{usual}, sample(50, "note", "priority=boolean", "id=number"), "priority: number to boolean, 50"},
	}
	for _, test := range tests {
		var schema collection.Schema
		for _, s := range test.before {
			schema, _ = schema.With(s)
		}
		var got []string
		for _, c := range schema.Changes(test.page) {
			if c.Is == collection.JSONMissing {
				got = append(got, c.Field+": missing")
			} else {
				got = append(got, fmt.Sprintf("%s: %s to %s, %d", c.Field, c.Was, c.Is, c.Records))
			}
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s: %q, want %q", test.name, text, test.want)
		}
		after, _ := schema.With(test.page)
		if again := after.Changes(test.page); len(again) > 0 {
			t.Errorf("%s: once learned, it is still news: %v", test.name, again)
		}
	}
}

// TestSchemaComesToRest: a stream whose records are alike does not change its
// schema for ever, and what it is told of is bounded.
func TestSchemaComesToRest(t *testing.T) {
	var schema collection.Schema
	changes := 0
	for range 50 {
		next, changed := schema.With(sample(30, "id=number", "rare", "name=string"))
		if changed != !reflect.DeepEqual(next, schema) {
			t.Fatalf("changed = %t, from %+v to %+v", changed, schema, next)
		}
		if schema = next; changed {
			changes++
		}
	}
	if changes != 4 {
		t.Errorf("it changed %d times, want 4: until a hundred records", changes)
	}
	for i := range 2000 {
		schema, _ = schema.With(sample(1, fmt.Sprint("f", i, "=string")))
	}
	if len(schema.Fields) > 500 {
		t.Errorf("%d fields are kept", len(schema.Fields))
	}
	text, err := json.Marshal(schema)
	var back collection.Schema
	if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, schema) {
		t.Errorf("through JSON it is another one: %v", err)
	}
}

func TestSchemaAccept(t *testing.T) {
	schema, _ := collection.Schema{}.With(sample(100, "id=number", "priority=number"))
	text, _ := collection.ParseJSONKind("string")
	both, ok := schema.Accept("priority", text)
	if !ok || len(both.Changes(sample(50, "id=number", "priority=string"))) > 0 || len(both.Changes(sample(50, "id=number", "priority=number"))) > 0 {
		t.Errorf("accepted as text, too, it is %+v", both)
	}
	without, ok := schema.Accept("priority", collection.JSONMissing)
	if !ok || len(without.Changes(sample(50, "id=number"))) > 0 || len(without.Changes(sample(50, "id=number", "priority=string"))) == 0 {
		t.Errorf("accepted to be missing it is %+v", without)
	}
	if len(schema.Changes(sample(50, "id=number", "priority=string"))) == 0 {
		t.Error("the schema that was accepted from has changed")
	}
	if _, ok := schema.Accept("no", text); ok {
		t.Error("a field that there is not was accepted")
	}
}

// TestLearned: details that come one by one are held against the schema when
// there are enough of them; a slice with records as they were is no news.
func TestLearned(t *testing.T) {
	usual, other := sample(100, "id=number"), sample(1, "id=string")
	var known collection.Learned
	var err error
	if known, err = known.With(usual, true); err != nil || !known.Changed {
		t.Fatalf("after the first slice: changed %t, %v", known.Changed, err)
	}
	if _, err := known.With(sample(50, "id=string"), false); err != nil {
		t.Errorf("a slice with unchanged records: %v", err)
	}
	for n := 1; ; n++ {
		var stop *collection.Stop
		if known, err = known.With(other, true); errors.As(err, &stop) && stop.Reason == collection.SchemaDrift && n == 10 {
			return
		}
		if err != nil || n == 10 {
			t.Fatalf("after %d details: %v, want a stop after 10", n, err)
		}
	}
}

// TestSampleIsUsedAgain: what is forgotten counts no more.
func TestSampleIsUsedAgain(t *testing.T) {
	s := sample(20, "id=number", "gone=number")
	s.Reset()
	for range 20 {
		s.Begin()
		s.Saw("id", collection.JSONString)
		s.Saw("id", collection.JSONString) // twice in one record
	}
	schema, _ := collection.Schema{}.With(sample(100, "id=number", "gone=number"))
	if got := schema.Changes(s); len(got) != 2 || got[0].Field != "gone" || got[1].Records != 20 {
		t.Errorf("changes %+v, want that gone is missing, and id text in 20", got)
	}
}

func TestSchemaDriftIsTold(t *testing.T) {
	err := &collection.SchemaDriftError{Of: 12, Changes: []collection.SchemaChange{
		{Field: "priority", Was: collection.JSONNumber, Is: collection.JSONString, Records: 12},
		{Field: "a\x1b[31m", Is: collection.JSONMissing}, {Field: "b", Is: collection.JSONMissing}, {Field: "c"}, {Field: "d"},
	}}
	want := "the values of `priority` were of the kind number in all records so far, and are of the kind string in 12 of 12; " +
		"`…` was in all records so far, and is in none of 12; `b` was in all records so far, and is in none of 12; and 2 more fields"
	if got := err.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// BenchmarkSample100Records measures what it costs to look at a page of 100
// records of 12 fields that are as before, without their parsing.
func BenchmarkSample100Records(b *testing.B) {
	names := make([]string, 12)
	for i := range names {
		names[i] = fmt.Sprint("field_", i)
	}
	var s collection.Sample
	var schema collection.Schema
	for b.Loop() {
		s.Reset()
		for range 100 {
			s.Begin()
			for _, name := range names {
				s.Saw(name, collection.JSONString)
			}
		}
		if len(schema.Changes(&s)) > 0 {
			b.Fatal("it changed")
		}
		schema, _ = schema.With(&s)
	}
}

// TestSumsOfOneSample: two sums that begin with the same sample know nothing of each other.
func TestSumsOfOneSample(t *testing.T) {
	both := sample(3, "id=number")
	one := both.Plus(sample(1, "id=number", "x=string"))
	two := both.Plus(sample(1, "id=number", "y=boolean")).Plus(sample(1, "x=string"))
	for of, want := range map[*collection.Sample][]string{both: {"id"}, one: {"id", "x"}, two: {"id", "x", "y"}} {
		schema, _ := collection.Schema{}.With(of)
		if got := slices.Sorted(maps.Keys(schema.Fields)); !slices.Equal(got, want) {
			t.Errorf("a sum has the fields %q, want %q", got, want)
		}
	}
}

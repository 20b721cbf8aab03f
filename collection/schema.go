package collection

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A JSONKind is a set of kinds of JSON values. null is none of them: a field
// that may be null has the kind that it has otherwise.
type JSONKind uint8

// The kinds of JSON values.
const (
	JSONString JSONKind = 1 << iota
	JSONNumber
	JSONBoolean
	JSONObject
	JSONArray
	JSONMissing // there is no such field: a kind of change, and of no value
)

var jsonKinds = [...]string{"string", "number", "boolean", "object", "array", "missing"}

// ParseJSONKind returns the kind with that name: string, number, boolean, object,
// array or missing.
func ParseJSONKind(name string) (JSONKind, bool) {
	i := slices.Index(jsonKinds[:], name)
	return 1 << max(i, 0), i >= 0
}

// String returns the names of the kinds, with "or" between them.
func (k JSONKind) String() string {
	var names []string
	for i, name := range jsonKinds {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

const (
	// schemaEnough is how many records make a habit: what all of them had in
	// common is not expected to change. Beyond it nothing is counted.
	schemaEnough = 100

	// schemaNews is how many records in a row make news, and not an exception.
	schemaNews = 10

	// schemaFields bounds the fields of a schema. A stream with more has objects
	// used as maps.
	schemaFields = 500
)

// A Schema is what the top-level fields of the records of a stream were so far.
// Its size is bounded, and so is how often it changes: a stream whose records
// are alike has the schema of its first hundred.
type Schema struct {
	Records int                    `json:"records"` // that were looked at, up to schemaEnough
	Fields  map[string]SchemaField `json:"fields"`
}

// A SchemaField is one field of a [Schema].
type SchemaField struct {
	Kinds  JSONKind `json:"kinds"`
	Values int      `json:"values"`           // that were not null, up to schemaEnough
	Always bool     `json:"always,omitempty"` // no record was without it
}

// A SchemaChange is a field that is not what it was in all records before.
type SchemaChange struct {
	Field   string
	Was, Is JSONKind // of its values
	Records int      // that have it so
}

// A SchemaDriftError is the cause of a [Stop] with [SchemaDrift]: fields that
// changed their nature in all records that came together.
type SchemaDriftError struct {
	Changes []SchemaChange
	Of      int // records that came together
}

// mostChanges bounds the changes that a message names.
const mostChanges = 3

func (e *SchemaDriftError) Error() string {
	var b strings.Builder
	for i, c := range e.Changes {
		if i == mostChanges {
			fmt.Fprintf(&b, "; and %d more fields", len(e.Changes)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		if c.Is == JSONMissing {
			fmt.Fprintf(&b, "`%s` was in all records so far, and is in none of %d", shownField(c.Field), e.Of)
		} else {
			fmt.Fprintf(&b, "the values of `%s` were of the kind %s in all records so far, and are of the kind %s in %d of %d", shownField(c.Field), c.Was, c.Is, c.Records, e.Of)
		}
	}
	return b.String()
}

// shownField returns the name of a field as people see it.
func shownField(name string) string {
	if len(name) > 60 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '`' }) {
		return "…"
	}
	return name
}

// Changes returns the fields that are not what they were, in the order of their
// names. It takes many records on both sides to say so.
func (s Schema) Changes(of *Sample) []SchemaChange {
	if of.Records < schemaNews || s.Records < schemaEnough {
		return nil
	}
	var changes []SchemaChange
	for name, f := range s.Fields {
		seen := of.field(name)
		switch {
		case seen == nil && f.Always && !of.more:
			changes = append(changes, SchemaChange{name, f.Kinds, JSONMissing, of.Records})
		case seen != nil && f.Values >= schemaEnough && seen.values >= schemaNews && seen.kinds&f.Kinds == 0:
			changes = append(changes, SchemaChange{name, f.Kinds, seen.kinds, seen.values})
		}
	}
	slices.SortFunc(changes, func(a, b SchemaChange) int { return strings.Compare(a.Field, b.Field) })
	return changes
}

// With returns the schema after more records, and whether it is another one.
func (s Schema) With(more *Sample) (Schema, bool) {
	if more.Records == 0 {
		return s, false
	}
	next := Schema{Records: min(s.Records+more.Records, schemaEnough)}
	set := func(name string, f SchemaField) {
		if next.Fields == nil {
			if next.Fields = maps.Clone(s.Fields); next.Fields == nil {
				next.Fields = map[string]SchemaField{}
			}
		}
		next.Fields[name] = f
	}
	for name, f := range s.Fields {
		if !f.Always {
			continue
		}
		if seen := more.field(name); seen == nil && !more.more || seen != nil && seen.times < more.Records {
			f.Always = false
			set(name, f)
		}
	}
	for i := range more.fields {
		seen := &more.fields[i]
		if seen.times == 0 {
			continue
		}
		f, known := s.Fields[seen.name]
		if !known && len(s.Fields) >= schemaFields {
			continue
		}
		if next.Fields != nil && known {
			f = next.Fields[seen.name]
		}
		was := f
		f.Kinds |= seen.kinds
		f.Values = min(f.Values+seen.values, schemaEnough)
		if !known {
			f.Always = s.Records == 0 && seen.times == more.Records
		}
		if f != was || !known {
			set(seen.name, f)
		}
	}
	if next.Fields == nil {
		next.Fields = s.Fields
		return next, next.Records != s.Records
	}
	return next, true
}

// Accept returns the schema with what a person said about a field: that its
// values may be of these kinds, too, or that it may be missing. ok is false if
// the schema has no such field.
func (s Schema) Accept(field string, kind JSONKind) (Schema, bool) {
	f, ok := s.Fields[field]
	if !ok {
		return s, false
	}
	f.Kinds |= kind &^ JSONMissing
	f.Always = f.Always && kind&JSONMissing == 0
	s.Fields = maps.Clone(s.Fields)
	s.Fields[field] = f
	return s, true
}

// A Learned is what a store knows of the records of a stream. It is learned in
// the transaction that stores them, and held against what came before: a slice
// whose records all changed their nature is not stored.
type Learned struct {
	Schema  Schema
	Changed bool // the schema differs from the stored one

	pending *Sample // records of slices that are too small to be news; nil: none
}

// With takes in a sample of the records that a slice changed; whole says that it
// had no others. It returns a [*Stop] if all of them are of another nature than
// the records before.
//
// Details come one by one: they are held against the schema when there are
// enough of them. Where a slice has records that did not change, its records are
// as they were before.
func (l Learned) With(sample *Sample, whole bool) (Learned, error) {
	if l.pending != nil || sample.Few() {
		sample = l.pending.Plus(sample)
	}
	if whole && sample.Few() {
		l.pending = sample
		return l, nil
	}
	if drift := l.Schema.Changes(sample); whole && len(drift) > 0 {
		err := &SchemaDriftError{Changes: drift, Of: sample.Records}
		return l, &Stop{Reason: SchemaDrift, Detail: err.Error(), Err: err}
	}
	next, other := l.Schema.With(sample)
	return Learned{Schema: next, Changed: l.Changed || other}, nil
}

// A Sample is what the top-level fields of some records are.
type Sample struct {
	Records int

	fields []sampled
	index  map[string]int
	next   int  // where the next field is expected: records of one kind have one order
	more   bool // there were more fields than are counted
	lent   bool // another sample has the same index
}

type sampled struct {
	name   string
	kinds  JSONKind
	values int // that are not null
	times  int // that it was there
	last   int // the record that had it last
}

// Begin begins a record.
func (s *Sample) Begin() { s.Records, s.next = s.Records+1, 0 }

// Saw notes a field of the record that was begun, with the kind of its value: 0
// for null. It keeps no reference to name.
func (s *Sample) Saw(name string, kind JSONKind) {
	f := s.find(name)
	switch {
	case f == nil:
		return
	case f.last == s.Records:
		f.kinds |= kind // the same name twice in one record
		return
	}
	f.last, f.times, f.kinds = s.Records, f.times+1, f.kinds|kind
	if kind != 0 {
		f.values++
	}
}

// Reset forgets the records. What is allocated is used again.
func (s *Sample) Reset() {
	s.Records, s.next, s.more = 0, 0, false
	if len(s.fields) == schemaFields {
		s.fields, s.index = nil, nil // their names may never come again
	}
	for i := range s.fields {
		s.fields[i] = sampled{name: s.fields[i].name}
	}
}

// Few reports whether these are too few records to be news.
func (s *Sample) Few() bool { return s.Records < schemaNews }

// Plus returns a sample of the records of both; s may be nil.
func (s *Sample) Plus(o *Sample) *Sample {
	sum := &Sample{}
	if s != nil { // details come one by one, and most have the fields of those before
		s.lent = true
		*sum = *s
		sum.fields = slices.Clone(s.fields)
	}
	sum.Records, sum.next, sum.more = sum.Records+o.Records, 0, sum.more || o.more
	for i := range o.fields {
		if f := &o.fields[i]; f.times > 0 {
			if to := sum.find(f.name); to != nil {
				to.kinds, to.values, to.times = to.kinds|f.kinds, to.values+f.values, to.times+f.times
			}
		}
	}
	return sum
}

// find returns the field of that name, making it if need be; nil if there are
// too many.
func (s *Sample) find(name string) *sampled {
	i := s.next
	if i >= len(s.fields) || s.fields[i].name != name {
		var known bool
		if i, known = s.index[name]; !known {
			if i = len(s.fields); i >= schemaFields {
				s.more = true
				return nil
			}
			switch {
			case s.index == nil:
				s.index = map[string]int{}
			case s.lent:
				s.index, s.lent = maps.Clone(s.index), false
			}
			name = strings.Clone(name)
			s.index[name], s.fields = i, append(s.fields, sampled{name: name})
		}
	}
	s.next = i + 1
	return &s.fields[i]
}

// field returns the field of that name; nil if no record had it.
func (s *Sample) field(name string) *sampled {
	if i, ok := s.index[name]; ok && s.fields[i].times > 0 {
		return &s.fields[i]
	}
	return nil
}

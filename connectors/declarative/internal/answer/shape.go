package answer

import (
	"fmt"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// A Shape says how the records of a list stand in a document. The zero Shape is
// an array of objects that is the document.
//
// An element that is a record as it came stays as it came, byte for byte. What is
// made of several parts of the document is made of their bytes.
type Shape struct {
	notation.Path                 // of the list; not set: the document itself
	Whole         string          // the path as the file has it
	Inner         []notation.Path // of the lists inside the elements of the list before, outermost first
	One           bool            // what stands there is one record, and no list
	Map           string          // what stands there is an object: the field that gets the name of each member
	Columns       Columns         // the elements are arrays
	Value         string          // the field that gets an element which is no object
	With          []notation.Path // of what stands beside the list and belongs to each record
	Lone          bool            // a list of one stands there without an array, and nothing if it is empty
	Wants         []string        // columns that must be there, so that the records have a key
}

// String names the shape, for comparison with another one.
func (s Shape) String() string {
	var text strings.Builder
	text.WriteString(s.Whole)
	if s.One {
		text.WriteString(" one")
	}
	if s.Map != "" {
		text.WriteString(" map " + s.Map)
	}
	text.WriteString(s.Columns.String())
	if s.Value != "" {
		text.WriteString(" value " + s.Value)
	}
	for _, p := range s.With {
		text.WriteString(" with " + p.Text)
	}
	return text.String()
}

// where names the place of the list in a message.
func (s Shape) where() string {
	if s.Whole == "" {
		return "the page"
	}
	return "`" + s.Whole + "`"
}

// elementCost is how many bytes of a body an element counts as at least, since
// each takes as much memory until it is stored. 64 MiB of `{"id":1},` would be
// seven million records, in two gigabytes.
const elementCost = 256

// fewElements are allowed whatever the limit of a body.
const fewElements = 10_000

// mostElements is how many elements a page may have.
func mostElements(limit int64) int { return max(fewElements, int(limit/elementCost)) }

// Elements finds the records of a document, which is valid JSON or nil. What it
// makes of them takes limit bytes at most. A detail may be one object in place of
// an array; single is whether there is one object.
//
// Beside an error there may be elements: those that cannot be records.
func (s Shape) Elements(doc []byte, detail bool, limit int64) (elements [][]byte, single bool, err error) {
	if doc == nil {
		return nil, false, nil
	}
	r := &reading{Shape: s, doc: doc, room: limit, most: mostElements(limit)}
	raw := doc
	if s.Set {
		if raw, err = r.found(s.Path, doc); err != nil || raw == nil {
			return nil, false, err
		}
	}
	if r.columns, err = s.Columns.namesIn(doc); err != nil {
		return nil, false, err
	}
	single = s.One || detail && raw[0] == '{' && s.Map == "" && len(s.Inner) == 0
	switch {
	case single && raw[0] != '{':
		return nil, true, paging.BadPage("%s is not an object, but `records` says that it is one record: leave out `one`", s.where())
	case single:
		err = r.fill(nil, func() error { return r.record(raw) })
	default:
		err = r.lists(raw, s.Inner, nil)
	}
	if err == nil && r.outer > 0 && r.outer == r.lacking {
		err = paging.BadPage("none of the elements on the way to %s has `%s`: correct `records`", s.where(), r.lacks)
	}
	if err == nil {
		err = s.scalarsOnly(doc, r.elements)
	}
	return r.elements, single, err
}

// scalarsOnly returns an error for a list of nothing but text and numbers: in
// such a one no key can be found, whatever the file says.
func (s Shape) scalarsOnly(doc []byte, elements [][]byte) error {
	for _, e := range elements {
		if !isScalar(e) {
			return nil
		}
	}
	if len(elements) == 0 {
		return nil
	}
	hint := paging.ListNames(doc, s.Path)
	if hint == "" {
		hint = fmt.Sprintf(", or name the field that each becomes: records: {%svalue: NAME}", s.at())
	}
	return paging.BadPage("%s is a list of %s, not of records: correct `records`%s", s.where(), scalarsOf(elements[0]), hint)
}

// at is the path as a block has it.
func (s Shape) at() string {
	if s.Whole == "" {
		return ""
	}
	return "at: " + s.Whole + ", "
}

// isScalar reports whether a value is text or a number.
func isScalar(raw []byte) bool {
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}

// scalarsOf is a word for the kind of a scalar.
func scalarsOf(raw []byte) string {
	if raw[0] == '"' {
		return "text"
	}
	return "numbers"
}

// found returns the bytes at a path of doc; nil if they are a list without
// elements.
func (r *reading) found(at notation.Path, doc []byte) ([]byte, error) {
	where := r.where()
	if at.Twice(doc) {
		return nil, paging.BadPage("the page has %s twice", where)
	}
	value := at.In(doc)
	switch {
	case value.Exists():
	case r.Lone && !at.Holder().Absent(doc):
		return nil, nil // the list is empty
	default:
		return nil, paging.BadPage("the page has no %s%s", where, paging.ListNames(r.doc, r.Path))
	}
	return within(doc, value), nil
}

// tooMany is the error for a page with more elements than fit.
func tooMany(most int) error {
	return &collection.Stop{Reason: collection.TooLarge, Detail: fmt.Sprintf("the page has more than %d elements; ask for fewer at once, or raise `body` under `limits`", most)}
}

package answer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// A reading makes elements of a document, in its order.
type reading struct {
	Shape
	doc     []byte
	columns [][]byte // for all lists; nil: the first row of each, or none
	room    int64    // bytes that may still be made
	most    int      // elements that there may be

	elements       [][]byte
	fields         []byte   // what stands beside the list, as members of each record: `"base":"EUR",`
	names          []string // of those members, and of the one for the name in a map
	outer, lacking int      // elements on the way to inner lists, and those that have none
	lacks          string   // what they lack
}

// lists reads the lists that raw leads to. holders are the elements on the way.
func (r *reading) lists(raw []byte, inner []notation.Path, holders [][]byte) error {
	if len(inner) == 0 {
		if len(holders) > 0 && raw[0] == '{' && r.Map == "" && !r.Lone {
			return r.oneInEach()
		}
		return r.fill(holders, func() error { return r.list(raw) })
	}
	if raw[0] == '{' && len(holders) == 0 && !r.Lone {
		return paging.BadPage("`%[1]s` is an object, not an array, so that %s leads into no element; if each of its members is a record: records: {at: %[1]s, map: NAME}", r.Path.Text, r.where())
	}
	if raw[0] != '[' && !r.Lone {
		return r.notAList(raw)
	}
	return each(raw, func(element []byte) error {
		r.outer++
		value := inner[0].In(element)
		switch {
		case inner[0].Twice(element):
			return paging.BadPage("an element on the way to %s has `%s` twice", r.where(), inner[0].Text)
		case element[0] != '{' || !value.Exists():
			r.lacking, r.lacks = r.lacking+1, inner[0].Text
			return nil
		case value.Type == gjson.Null:
			return nil
		}
		return r.lists(within(element, value), inner[1:], append(holders, element))
	})
}

// fill calls read with what stands beside a list: in the nearest of its holders
// that has it, or in the document.
func (r *reading) fill(holders [][]byte, read func() error) error {
	r.fields, r.names = nil, nil
	if r.Map != "" {
		r.names = append(r.names, r.Map)
	}
	for _, at := range r.With {
		value := gjson.Result{}
		for i := len(holders) - 1; i >= 0 && !value.Exists(); i-- {
			value = at.In(holders[i])
		}
		if !value.Exists() {
			value = at.In(r.doc)
		}
		if !value.Exists() {
			return paging.BadPage("there is no `%s` beside the records, where `with` looks for it", at.Text)
		}
		name := at.Steps[len(at.Steps)-1]
		r.names = append(r.names, name)
		r.fields = append(append(append(r.fields, member(name)...), value.Raw...), ',')
	}
	return read()
}

// list reads one list.
func (r *reading) list(raw []byte) error {
	if r.Map != "" {
		return r.members(raw)
	}
	if raw[0] != '[' && !r.Lone {
		return r.notAList(raw)
	}
	columns, first := r.columns, r.Columns.First
	if columns != nil {
		if err := r.wanted(columns); err != nil {
			return err
		}
	}
	return each(raw, func(element []byte) (err error) {
		switch {
		case first:
			columns, first, err = columnsOf(element), false, nil
			if columns == nil {
				return paging.BadPage("the first row of %s does not name the columns: it is no array of different texts", r.where())
			}
			return r.wanted(columns)
		case columns != nil:
			return r.row(columns, element)
		case r.Value != "" && element[0] == '{':
			return paging.BadPage("%s has objects, which need no name: leave out `value`", r.where())
		case r.Value != "":
			return r.make(r.fields, member(r.Value), element)
		}
		return r.record(element)
	})
}

// ErrNoNames is the cause of a bad page whose first row has none of the names that it
// should have, nor any other: it may be the words of an error.
var ErrNoNames = errors.New("the first row has no names of columns")

// wanted returns an error if a column is missing by which the file goes on. What
// was sent is another table then, or the text of an error.
func (r *reading) wanted(columns [][]byte) error {
	for _, name := range r.Wants {
		is := func(column []byte) bool { return bytes.Equal(column, member(name)) }
		if !slices.ContainsFunc(columns, is) && !slices.Contains(r.names, name) {
			names := paging.FieldNames(slices.Concat([]byte{'{'}, bytes.Join(columns, []byte("0,")), []byte("0}")))
			stop := &collection.Stop{Reason: collection.BadPage, Detail: fmt.Sprintf("there is no column `%s`%s", name, names)}
			if names == "" {
				stop.Err = ErrNoNames
			}
			return stop
		}
	}
	return nil
}

// members reads an object as a list: each member is a record, with its name as
// one more field. Some languages write an object without members as [].
func (r *reading) members(raw []byte) (err error) {
	if raw[0] == '[' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0 {
		return nil
	}
	if raw[0] != '{' {
		return paging.BadPage("%s is not an object, but `map` says so", r.where())
	}
	beside := r.fields
	notation.Parse(raw).ForEach(func(name, value gjson.Result) bool {
		element := within(raw, value)
		switch r.fields = slices.Concat(member(r.Map), []byte(name.Raw+","), beside); {
		case r.Value != "":
			err = r.make(r.fields, member(r.Value), element)
		case isScalar(element):
			err = paging.BadPage("%s has %s, not objects: name the field that gets it, with `value`", r.where(), scalarsOf(element))
		default:
			err = r.record(element)
		}
		return err == nil
	})
	return err
}

// row makes a record of an array with as many values as there are columns. Any
// other row stays what it is, and is no record.
func (r *reading) row(columns [][]byte, raw []byte) error {
	switch raw[0] {
	case '{':
		return paging.BadPage("%s has objects, not arrays: leave out `columns`", r.where())
	case '[':
	default:
		return r.add(raw)
	}
	values := make([][]byte, 0, len(columns))
	_ = each(raw, func(value []byte) error {
		values = append(values, value)
		return nil
	})
	if len(values) != len(columns) {
		return r.add(raw)
	}
	parts := [][]byte{r.fields}
	for i, value := range values {
		if i > 0 {
			parts = append(parts, []byte{','})
		}
		parts = append(parts, columns[i], value)
	}
	return r.make(parts...)
}

// record adds an object, with the fields beside the list. What is none is no
// record, and stays what it is.
func (r *reading) record(raw []byte) error {
	if len(r.fields) == 0 || raw[0] != '{' {
		return r.add(raw)
	}
	object := notation.Parse(raw)
	for _, name := range r.names {
		if object.Get(gjson.Escape(name)).Exists() {
			return paging.BadPage("the records have a field `%s` of their own: choose another name in `records`", name)
		}
	}
	rest := raw[1 : len(raw)-1]
	if len(bytes.TrimSpace(rest)) == 0 {
		return r.make(r.fields[:len(r.fields)-1])
	}
	return r.make(r.fields, rest)
}

// make adds an object of those members.
func (r *reading) make(members ...[]byte) error {
	size := 2
	for _, m := range members {
		size += len(m)
	}
	if r.room -= int64(size); r.room < 0 {
		return &collection.Stop{Reason: collection.TooLarge, Detail: "the records that are made of the page are larger than `body` under `limits` allows"}
	}
	object := append(make([]byte, 0, size), '{')
	for _, m := range members {
		object = append(object, m...)
	}
	return r.add(append(object, '}'))
}

func (r *reading) add(element []byte) error {
	if len(r.elements) == r.most {
		return tooMany(r.most)
	}
	r.elements = append(r.elements, element)
	return nil
}

// notAList is the error for a place where an array should be.
func (r *reading) notAList(raw []byte) error {
	lists := paging.ListNames(r.doc, r.Path)
	switch {
	case raw[0] != '{' || lists != "" && r.Whole != "":
		return paging.BadPage("%s is not an array%s", r.where(), lists)
	case r.Whole == "":
		return paging.BadPage("the page is an object, not an array: say with `records` where its records are%s", lists)
	}
	return paging.BadPage("%s is an object, not an array: if it is one record, records: {%sone: true}; if each of its members is one, records: {%smap: NAME}", r.where(), r.at(), r.at())
}

// oneInEach is the error for elements on the way that have one object each where a list
// should be.
func (r *reading) oneInEach() error {
	way, last := r.Path.Text, len(r.Inner)-1
	for _, inner := range r.Inner[:last] {
		way += "[]." + inner.Text
	}
	return paging.BadPage("%s is an object in each element, and no list: take the elements as they are, with records: %s and paths below `%[3]s`, such as key: %[3]s.id", r.where(), way, r.Inner[last].Text)
}

// each calls read with the elements of an array, as parts of it, until it
// returns an error. What is no array is one element.
func each(array []byte, read func(element []byte) error) (err error) {
	if array[0] != '[' {
		return read(array)
	}
	notation.Parse(array).ForEach(func(_, value gjson.Result) bool {
		err = read(within(array, value))
		return err == nil
	})
	return err
}

// within returns the bytes of doc that found was read from.
func within(doc []byte, found gjson.Result) []byte {
	end := found.Index + len(found.Raw)
	if found.Index > 0 && end <= len(doc) && string(doc[found.Index:end]) == found.Raw {
		return doc[found.Index:end:end]
	}
	return []byte(found.Raw)
}

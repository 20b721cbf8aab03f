package compile

import (
	"fmt"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/internal/yamlfile"
)

// intoEach stands in a path behind the name of an array: what follows is looked
// for in each of its elements.
const intoEach = "[]"

// firstRow is written for columns that the first array of a list names.
const firstRow = "first"

// records compiles how the records stand in a page.
func (c *checker) records(spec language.RecordsSpec) answer.Shape {
	s := answer.Shape{Whole: spec.Path.Text, One: spec.One.Value, Map: spec.Map.Text, Value: spec.Value.Text, With: spec.With}
	if spec.Path.Set && !spec.Path.Null {
		s.Path, s.Inner = c.listPath(spec.Path)
	}
	for _, name := range []yamlfile.Scalar{spec.Map, spec.Value} {
		if name.Set && name.Text == "" {
			c.Fail(name.At, "this must be the name of a field", "")
		}
	}
	columns := spec.Columns
	switch {
	case columns.Names != nil:
		for _, name := range columns.Names {
			s.Columns.Names = append(s.Columns.Names, name.Text)
		}
	case columns.Text == firstRow:
		s.Columns.First = true
	case columns.Set && !columns.Null:
		s.Columns.At = notation.PathOf(&c.Decoder, columns.Scalar)
	}
	made := columns.Names != nil || columns.Set && !columns.Null
	switch {
	case s.One && (s.Map != "" || s.Value != "" || made):
		c.Fail(spec.One.At, "`one` is a record as it stands, without `map`, `columns` and `value`", "")
	case made && (s.Map != "" || s.Value != ""):
		c.Fail(columns.At, "`columns` is for arrays, without `map` and `value`", "")
	}
	c.fieldsOnce(spec, s)
	return s
}

// listPath reads a path that may go into the elements of arrays.
func (c *checker) listPath(path yamlfile.Scalar) (list notation.Path, inner []notation.Path) {
	text := path.Text
	if text != intoEach {
		text = strings.TrimSuffix(text, intoEach)
	}
	for i, part := range strings.Split(text, intoEach+".") {
		if part == intoEach || i == 0 && part == "" && text != "" {
			continue // the list is the page itself
		}
		step := path
		step.Text = part
		p := notation.PathOf(&c.Decoder, step)
		if i == 0 {
			list = p
		} else {
			inner = append(inner, p)
		}
	}
	return list, inner
}

// fieldsOnce sees to it that no record is made with two fields of one name.
func (c *checker) fieldsOnce(spec language.RecordsSpec, s answer.Shape) {
	names := slices.Clone(s.Columns.Names)
	for _, name := range []string{s.Map, s.Value} {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, p := range s.With {
		if len(p.Steps) > 0 {
			names = append(names, p.Steps[len(p.Steps)-1])
		}
	}
	slices.Sort(names)
	for i := range names[:max(0, len(names)-1)] {
		if names[i] == names[i+1] {
			c.Fail(spec.At, fmt.Sprintf("`records` gives two fields the name `%s`", names[i]), "")
			return
		}
	}
}

// onePage sees to it that a list which is one record is not asked for page by
// page. A number in a record is no total.
func (c *checker) onePage(spec language.StreamSpec, st *Stream) {
	if spec.Page != nil && !spec.Page.None.Value {
		c.Fail(spec.Page.At, fmt.Sprintf("`%s` is one record (`one: true`), which is not cut into pages", st.Name), "")
	}
	st.Page, st.IgnoreTotal = paging.OnePage{Detail: st.Role == collection.Detail}, true
}

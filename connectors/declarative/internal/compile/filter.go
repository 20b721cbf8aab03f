package compile

import (
	"errors"
	"fmt"
	"strconv"

	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/internal/jq"
	"collect/internal/yamlfile"
)

// filter compiles what of the records may be stored. What the walk goes by is
// stored beside the records as well, so that it must be among them.
func (c *checker) filter(key yamlfile.Scalar, spec language.StreamSpec, st *Stream) {
	for _, p := range append(append([]notation.Path{}, spec.Fields...), spec.Drop...) {
		for _, step := range p.Steps {
			if _, err := strconv.Atoi(step); err == nil {
				c.Fail(p.At, "a path of `fields` and `drop` goes into every element of an array: leave out the number", "")
			}
		}
	}
	st.Filter = answer.NewFilter(spec.Fields, spec.Drop)
	for _, part := range st.Key {
		if part.Binding == "" && st.Map == nil {
			c.kept(key.At, st, part.Path, "`key`")
		}
	}
	if st.Since != nil {
		c.kept(key.At, st, st.Since.Field, "`since`")
	}
	if pg, ok := st.Page.(paging.ByLastID); ok {
		c.kept(key.At, st, pg.Field, "`page`")
	}
}

// program compiles what makes the records that are stored.
func (c *checker) program(s yamlfile.Scalar, st *Stream) {
	if !s.Set || s.Null {
		return
	}
	program, err := jq.Compile(s.Text)
	if fault, ok := errors.AsType[*jq.SyntaxError](err); ok {
		c.Fail(s.Inside(min(fault.Offset, len(s.Text)), fault.Length), "not a program of jq: "+fault.Message, "")
		return
	}
	st.Map = program
}

// kept reports a path that is not stored although something goes by it.
func (c *checker) kept(at yamlfile.Span, st *Stream, p notation.Path, by string) {
	if p.Set && !st.Filter.Keeps(p) {
		c.Fail(at, fmt.Sprintf("`fields` and `drop` of `%s` take away `%s`, which %s needs and stores", st.Name, p.Text, by), "")
	}
}

// boundFields sees to it that what children are bound to is stored.
func (c *checker) boundFields() {
	for _, st := range c.spec.Streams {
		parent := c.spec.Stream(st.Parent)
		if parent == nil {
			continue
		}
		bindings := st.Each
		if st.Changed != nil {
			bindings = append(append([]binding{}, bindings...), *st.Changed)
		}
		for _, b := range bindings {
			if b.inherited == "" {
				c.kept(b.path.At, parent, b.path, fmt.Sprintf("`each` of `%s`", st.Name))
			}
		}
	}
}

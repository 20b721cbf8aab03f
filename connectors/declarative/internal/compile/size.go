package compile

import (
	"slices"

	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/paging"
)

// sized reports whether the size of the pages of a stream can change.
func (c *checker) sized(spec language.StreamSpec) bool {
	p := spec.Page
	if p == nil {
		p = c.doc.Defaults.Page
	}
	return p != nil && p.Size != nil
}

// size compiles how many records a page of the stream is asked for, beside its paging.
func (c *checker) size(s *language.SizeSpec, st *Stream) {
	from, counted, own := s.From.Value, false, ""
	switch pg := st.Page.(type) {
	case paging.BySize:
		counted, from, own = true, pg.Size, pg.SizeParam
	case paging.ByOffset:
		counted, from, own = true, pg.Limit, pg.LimitParam
	case paging.ByCursor, paging.ByLastID, paging.ByContinue:
	default:
		c.Fail(s.At, "the size of a page can change by `cursor`, `continue`, `last_id`, `number` and `offset`, and not by this `page`", "")
		return
	}
	inRequest := slices.Contains(c.used, "size")
	switch {
	case counted && (s.Param.Set || s.From.Set):
		c.Fail(s.At, "`number` and `offset` have the parameter and the size themselves: leave `param` and `from` out of `size`", "")
	case counted && (from == 0 || own == "" && !inRequest):
		c.Fail(s.At, "`size` needs the size of a page in `number` or `offset`, and the parameter that takes it", "")
	case !counted && from == 0:
		c.Fail(s.At, "`size` needs `from`: how many records a page is asked for", "")
	case !counted && !s.Param.Set && !inRequest:
		c.Fail(s.At, "`size` needs a `param`, or ${size} in the request: where the size stands", "")
	case inRequest && (s.Param.Set || own != ""):
		c.Fail(s.At, "the size of a page stands in a parameter, or where ${size} is: not in both", "")
	case s.Least.Value > from:
		c.Fail(s.Least.At, "`least` is more than the size of a page", "")
	case slices.ContainsFunc(st.Each, func(b binding) bool { return b.Name == "size" }):
		c.Fail(s.At, "${size} is the size of a page: give the binding `size` in `each` another name", "")
	}
	_, divides := st.Page.(paging.BySize)
	st.SizeParam, st.Size = s.Param.Text, paging.NewSizing(from, s.Least.Value, divides)
}

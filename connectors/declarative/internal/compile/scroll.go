package compile

import (
	"slices"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/paging"
)

// scroll compiles the request for all pages of a scroll but the first.
func (c *checker) scroll(s *language.ScrollSpec, st *Stream) paging.Kind {
	switch {
	case !s.From.Set || s.Post.Text == "":
		c.Fail(s.At, "`scroll` needs `from`, the path of its id, and `post`, the path that it is asked for with", "")
		return paging.ByScroll{From: s.From}
	case st.Role == collection.Detail:
		c.Fail(s.At, "a detail is one record, and has no `scroll`", "")
	case st.Refers("page"):
		c.Fail(s.At, "the request of the stream begins the scroll: ${page} stands in the request of `scroll`", "")
	}
	k := known{names: append(slices.Clone(c.params.names), "page"), where: "in a scroll"}
	for _, b := range st.Each {
		k.names = append(k.names, b.Name)
	}
	r := c.request(s.At, "`scroll`", language.RequestSpec{Post: s.Post, JSON: s.JSON}, k, k)
	r.Headers = st.Headers
	st.Scroll = &r
	return paging.ByScroll{From: s.From}
}

package compile

import (
	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/paging"
	"collect/internal/yamlfile"
)

// delta compiles how a list of changes is followed from one walk to the next.
func (c *checker) delta(s *language.DeltaSpec, at yamlfile.Span, st *Stream) paging.Kind {
	by := paging.ByDelta{From: s.Next, Param: s.Param.Text, To: s.Resume, ResumeParam: s.ResumeParam.Text, More: s.More}
	switch {
	case !s.Resume.Set:
		c.Fail(at, "`delta` needs `resume`: the path of the token with which the next walk begins", "")
	case s.ResumeParam.Set && !s.Param.Set:
		c.Fail(s.ResumeParam.At, "`resume_param` needs a `param`, which takes the token of a page", "")
	case st.Role == collection.Detail:
		c.Fail(at, "a detail is one record, and has no `delta`", "")
	}
	if by.Param == "" && !st.Refers("page") {
		return paging.ByDeltaURL{ByDelta: by}
	}
	return by
}

// ownMark refuses a second mark beside the provider's own token.
func (c *checker) ownMark(spec language.StreamSpec, st *Stream) {
	if _, ok := st.Page.(paging.Resuming); ok && (spec.Since != nil || spec.Windows != nil) {
		var at yamlfile.Span
		if spec.Since != nil {
			at = spec.Since.At
		} else {
			at = spec.Windows.At
		}
		c.Fail(at, "with `page: {delta: …}` the provider says where the next walk begins: leave `since` and `windows` away", "")
	}
}

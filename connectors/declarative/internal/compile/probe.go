package compile

import (
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/request"
)

func (c *checker) checkProbe(spec *language.ProbeSpec) {
	if spec == nil {
		return
	}
	c.template(spec.Get, c.params)
	switch {
	case spec.Get.Text == "":
		c.Fail(spec.At, "a probe needs a `get`: a path that only the right account may ask for", "")
	case request.IsAbsolute(spec.Get.Text):
		c.Fail(spec.Get.At, "a probe is a path below `base_url`", "")
	}
	c.spec.Probe = &probe{Request: request.Request{Path: spec.Get, Headers: accepting(c.headers(c.params, c.doc.Provider.Headers), answer.Format{})}}
	if spec.When.Set {
		c.spec.Probe.When = notation.PredicateOf(&c.Decoder, spec.When, bodyNames)
	}
}

package compile

import (
	"fmt"
	"slices"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/windows"
)

// windowNames stand in a request for the ends of the window that it asks for.
var windowNames = [...]string{"window.from", "window.to"}

// windows compiles the windows of time in which a list is asked for.
func (c *checker) windows(spec language.StreamSpec, st *Stream) {
	s := spec.Windows
	c.OneOf(s.Format, windows.Formats[:]...)
	unit := windows.Unit(s.Format.Text)
	w := &Windows{From: s.From, Until: s.Until}
	w.Step, w.Least, w.Lookback = s.Step.Value, max(s.Least.Value, unit), s.Lookback.Value
	w.Cap, w.Format = s.Cap.Value, s.Format.Text
	st.Windows = w
	switch {
	case st.Since != nil:
		c.Fail(s.At, "a stream has `since` or `windows`, and not both: each says where the next walk begins", "")
	case st.Role == collection.Detail:
		c.Fail(s.At, "a detail is one record, and has no `windows`", "")
	}
	for name, set := range map[string]bool{"from": s.From.Set, "step": s.Step.Set, "lookback": s.Lookback.Set} {
		if !set {
			c.Fail(s.At, fmt.Sprintf("`windows` needs `%s`", name), "")
		}
	}
	c.windowEnd(s.From)
	if s.Until.Text != untilNow {
		c.windowEnd(s.Until)
	}
	for _, d := range []struct {
		set  bool
		span time.Duration
	}{{s.Step.Set, s.Step.Value}, {s.Least.Set, s.Least.Value}} {
		if d.set && d.span%unit != 0 {
			c.Fail(s.At, fmt.Sprintf("the `step` and the `least` of these windows are whole multiples of %s", map[bool]string{true: "a day", false: "a second"}[unit > time.Second]), "")
			break
		}
	}
	if s.Step.Set && w.Step < w.Least {
		c.Fail(s.Step.At, "no window is narrower than `least`", "")
	}
	for _, name := range windowNames {
		if !slices.Contains(c.used, name) {
			c.Fail(s.At, fmt.Sprintf("nothing in the request uses ${%s}", name), "")
		}
	}
}

// untilNow is written for windows that end when the walk begins.
const untilNow = "now"

// windowEnd checks a start or an end that is written in the file.
func (c *checker) windowEnd(t notation.Template) {
	c.template(t, c.params)
	if _, err := windows.Time(t.Text); t.Set && err != nil && !t.Refers("params.") {
		c.Fail(t.At, "this is neither a date such as 2024-01-31 nor a time such as 2024-01-31T12:00:00Z", "")
	}
}

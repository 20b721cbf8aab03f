package declarative

import (
	"fmt"
	"time"
)

// CheckMark checks a mark that a person wants a stream to go on from: whether
// it is of the form of its records' marks, of which sample is one, if there is
// any. It returns the time that the mark stands for; zero if it is no time.
func (s *Spec) CheckMark(stream, text string, sample []byte) (time.Time, error) {
	st := s.stream(stream)
	switch {
	case st == nil:
		return time.Time{}, fmt.Errorf("the connector file has no stream `%s`", stream)
	case st.since == nil:
		return time.Time{}, fmt.Errorf("`%s` has no `since`: it has no marks, and can only start over", stream)
	}
	m, want := newMark(text), st.since.kindOf(sample)
	if m.kind != want && (st.since.format == "" || m.kind == textMark) {
		return time.Time{}, fmt.Errorf("the marks of `%s` (`%s`) are %s, and %q is none", stream, st.since.field.text, want, text)
	}
	if _, err := st.since.form(text); err != nil {
		return time.Time{}, fmt.Errorf("%q cannot be sent as %s", text, st.since.format)
	}
	if m.kind == timeMark {
		return m.time, nil
	}
	at, _ := st.since.moment(text)
	return at, nil
}

// HasMark reports whether a record of a stream has a mark.
func (s *Spec) HasMark(stream string, record []byte) bool {
	st := s.stream(stream)
	if st == nil || st.since == nil {
		return false
	}
	text, ok := scalarText(st.since.field.in(record))
	return ok && text != ""
}

// kindOf returns the kind of the mark of a record. Without one it is that of
// most: a time.
func (s *since) kindOf(record []byte) markKind {
	if text, ok := scalarText(s.field.in(record)); ok && text != "" {
		return newMark(text).kind
	}
	return timeMark
}

func (k markKind) String() string { return [...]string{"numbers", "times", "texts"}[k] }

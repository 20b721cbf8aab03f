package declarative

import (
	"fmt"
	"time"

	"collect/connectors/declarative/internal/since"
)

// MarkValue returns the high-water mark of a cursor as the Value of a
// [collection.Mark]; "" if marks of its kind do not compare.
func MarkValue(mark string) string { return since.Sortable(mark) }

// CheckMark checks a mark that a person wants a stream to go on from: whether it has
// the form of its records' marks. sample is one of them; empty if there is none. It
// returns the time that the mark stands for; zero if it is no time.
func (s *Spec) CheckMark(stream, text string, sample []byte) (time.Time, error) {
	st := s.file.Stream(stream)
	switch {
	case st == nil:
		return time.Time{}, fmt.Errorf("the connector file has no stream `%s`", stream)
	case st.Since == nil:
		return time.Time{}, fmt.Errorf("`%s` has no `since`: it has no marks, and can only start over", stream)
	}
	return st.Since.Check(stream, text, sample)
}

// HasMark reports whether a record of a stream has a mark.
func (s *Spec) HasMark(stream string, record []byte) bool {
	st := s.file.Stream(stream)
	return st != nil && st.Since != nil && st.Since.Has(record)
}

// Meaning returns what gives the records of each stream, and where their walks
// stand, their meaning. Its names are those of a stream and a key of the file,
// such as issues.key. Where a value in the file may be anything, such as text of
// a query, only a digest of it is returned.
//
// What was stored under other values of get, key and each are other records.
// After a change of the rest the walk begins anew, wherever that is needed: see
// [connectors.Restarter].
func (s *Spec) Meaning() map[string]string {
	meaning := map[string]string{}
	for _, st := range s.file.Streams {
		for name, text := range st.Meaning() {
			meaning[st.Name+"."+name] = text
		}
	}
	return meaning
}

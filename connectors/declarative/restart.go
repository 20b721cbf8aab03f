package declarative

import (
	"fmt"
	"slices"
	"strings"

	"collect/collection"
)

// meanings are what the cursors of a stream say something about, each as a
// digest: a cursor that was made with other ones says nothing here.
type meanings struct {
	selection string // which records there are: a mark stands for all of them up to it
	paging    string // how they are cut: a token stands for a page of that
}

func (m meanings) String() string { return m.selection + "." + m.paging }

// note adds m to the cursors that s leads to.
func (m meanings) note(s *collection.Slice) {
	s.Next.Meaning = m.String()
	if s.Else != nil {
		s.Else.Meaning = m.String()
	}
}

// meanings returns those of a stream as the file has it now. What only changes
// a request, such as a header, a lookback or a format, is no part of them.
func (st *stream) meanings() meanings {
	var parts []string
	for _, q := range st.query {
		parts = append(parts, "query "+q.name+"="+q.value.text)
	}
	slices.Sort(parts)
	for _, k := range st.key {
		parts = append(parts, "key "+k.path.text)
	}
	parts = append(parts, "get "+st.get.text, "records "+st.records.text)
	tokens := tokensOf(st.page)
	if st.since != nil {
		tokens += ", since " + st.since.param // what pages behind a mark were asked for with
		parts = append(parts, "since "+st.since.field.text, "start "+st.since.start.text)
	}
	return meanings{digestOf(strings.Join(parts, "\n")), digestOf(tokens)}
}

// tokensOf says what the tokens of a paging stand for. An offset counts records,
// whatever the size of a page.
func tokensOf(pg paging) string {
	switch pg := pg.(type) {
	case byHeader:
		return "link_header " + pg.rel
	case byURL:
		return "next_url " + pg.at.text
	case byCursor:
		return "cursor " + pg.from.text
	case byLastID:
		return "last_id " + pg.field.text
	case byNumber:
		return fmt.Sprintf("number from %d of %d", pg.start, pg.size)
	case byOffset:
		return "offset"
	}
	return "none"
}

// Restart returns where a walk begins anew whose cursor lost its meaning, as
// [connectors.Restarter] says. A cursor of an older version has none noted, and
// is taken as it is.
func (c *connector) Restart(at collection.Place, from collection.Cursor) (anew collection.Cursor, lost bool) {
	st := c.spec.stream(at.Stream)
	if st == nil || from.Meaning == "" {
		return from, false
	}
	selection, paging, _ := strings.Cut(from.Meaning, ".")
	switch {
	case selection != st.means.selection:
		return collection.Cursor{}, true
	case paging != st.means.paging && !from.Done:
		return collection.Cursor{Since: from.Since}, true
	}
	return from, false
}

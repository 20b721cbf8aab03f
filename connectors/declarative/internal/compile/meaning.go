package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/paging"
)

// Meaning returns what gives the records of the stream their meaning, by key.
func (st *Stream) Meaning() map[string]string {
	meaning := map[string]string{"get": digestOf(st.Path.Text)}
	var key []string
	for _, part := range st.Key {
		key = append(key, part.Path.Text)
	}
	meaning["key"] = strings.Join(key, ", ")
	var query, each []string
	for _, q := range st.Query {
		query = append(query, q.Name+"="+q.Value.Text)
	}
	for _, b := range st.Each {
		each = append(each, b.Name+": "+b.path.Text)
	}
	if st.When != nil {
		meaning["when"] = digestOf(st.When.Text)
	}
	if st.Since != nil {
		meaning["since"] = st.Since.Field.Text
		meaning["start"] = digestOf(st.Since.Start.Text)
	}
	if st.Windows != nil {
		meaning["windows"] = digestOf(st.Windows.From.Text)
	}
	slices.Sort(query)
	slices.Sort(each)
	meaning["records"] = st.Records.String()
	meaning["page"] = st.Means.Paging
	if st.Method != "" {
		meaning["body"] = digestOf(st.Method + " " + st.Body.Source())
	}
	meaning["query"] = digestOf(strings.Join(query, "\n"))
	meaning["each"] = strings.Join(each, ", ")
	return meaning
}

// digestOf returns eight digits that tell one text from another.
func digestOf(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

func (m meanings) String() string { return m.Selection + "." + m.Paging }

// Note adds m to the cursors that s leads to.
func (m meanings) Note(s *collection.Slice) {
	s.Next.Meaning = m.String()
	if s.Else != nil {
		s.Else.Meaning = m.String()
	}
}

// meanings returns those of a stream as the file has it now. What only changes
// a request, such as a header, a lookback or a format, is no part of them.
func (st *Stream) meanings() meanings {
	var parts []string
	for _, q := range st.Query {
		parts = append(parts, "query "+q.Name+"="+q.Value.Text)
	}
	slices.Sort(parts)
	for _, k := range st.Key {
		parts = append(parts, "key "+k.Path.Text)
	}
	parts = append(parts, "get "+st.Path.Text, "records "+st.Records.String())
	if filter := st.Filter.String(); filter != "" {
		parts = append(parts, "filter "+filter)
	}
	if st.Map != nil {
		parts = append(parts, "map "+st.Map.Text)
	}
	if format := st.Format.String(); format != "" {
		parts = append(parts, "format "+format)
	}
	if st.Method != "" {
		parts = append(parts, st.Method+" "+st.Body.Source())
	}
	tokens := paging.TokensOf(st.Page)
	if _, ok := st.Page.(paging.Counted); ok && st.Size != nil {
		tokens += " of any size" // a gap behind a walk is one page, of the size that pages had
	}
	if st.Since != nil {
		tokens += ", since " + st.Since.Param // what pages behind a mark were asked for with
		parts = append(parts, "since "+st.Since.Field.Text, "start "+st.Since.Start.Text)
	}
	if st.Windows != nil {
		parts = append(parts, "windows from "+st.Windows.From.Text)
	}
	if _, ok := st.Page.(paging.Resuming); ok {
		parts = append(parts, tokens) // a resume token stands for all changes before it
	}
	return meanings{digestOf(strings.Join(parts, "\n")), digestOf(tokens)}
}

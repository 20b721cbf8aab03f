package compile

import (
	"fmt"
	"path"
	"slices"
	"unicode/utf8"

	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/request"
	"collect/internal/yamlfile"
)

// format compiles how a page is written.
func (c *checker) format(spec language.StreamSpec, st *Stream) {
	f, a := spec.Format, spec.Archive
	c.OneOf(f.As, language.Formats[:]...)
	c.OneOf(a.As, language.Archives[:]...)
	st.Format = answer.Format{Kind: f.As.Text, Skip: f.Skip.Value, Archive: a.As.Text, Entry: a.Entry.Text}
	if f.As.Text == answer.JSON {
		st.Format.Kind = ""
	}
	if f.As.Text != answer.CSV {
		for _, s := range []yamlfile.Scalar{f.Separator, f.Skip.Scalar} {
			if s.Set {
				c.Fail(s.At, "only CSV has a separator, and lines above its first row", "")
			}
		}
	}
	if s := f.Separator; s.Set {
		st.Format.Separator = c.separator(s)
	}
	switch {
	case a.At.Line > 0 && (!a.As.Set || a.As.Null):
		c.Fail(a.At, "an archive needs `as`: gzip or zip", "")
	case a.Entry.Set && a.As.Text != answer.Zip:
		c.Fail(a.Entry.At, "only a zip file has entries", "")
	}
	if _, err := path.Match(a.Entry.Text, ""); err != nil {
		c.Fail(a.Entry.At, "not a pattern for the name of an entry", "")
	}
	st.Records.Lone = st.Format.Kind == answer.XML
	if st.Format.IsRows() {
		c.rows(spec, st)
	}
	wants(st)
}

func (c *checker) separator(s yamlfile.Scalar) rune {
	if s.Text == "tab" {
		return '\t'
	}
	r, size := utf8.DecodeRuneInString(s.Text)
	if size != len(s.Text) || size == 0 || r == utf8.RuneError || r == '"' || r == '\n' || r == '\r' {
		c.Fail(s.At, "a separator is one character, or `tab`", "")
	}
	return r
}

// rows sees to it that nothing is looked for beside the rows of a page.
func (c *checker) rows(spec language.StreamSpec, st *Stream) {
	r := &st.Records
	if !spec.Records.Given() {
		*r = answer.Shape{}
	}
	csv := st.Format.Kind == answer.CSV
	if r.Whole != "" || r.Map != "" || r.One || len(r.With) > 0 || r.Columns.At.Set || csv && r.Value != "" {
		c.Fail(spec.Records.At, fmt.Sprintf("a page of %s is its rows and nothing else: `records` can name its `columns`", st.Format.Kind), "")
	}
	if csv && r.Columns.Names == nil {
		r.Columns.First, st.Format.Header = true, true
	}
	page := spec.Page
	if page == nil {
		page = c.doc.Defaults.Page
	}
	if page == nil {
		return
	}
	for _, p := range st.Page.Reads() {
		if p.Set {
			c.Fail(page.At, fmt.Sprintf("`page` looks for `%s`, and a page of %s is its rows and nothing else", p.Text, st.Format.Kind), "")
		}
	}
	if st.Total.Set && st.Total.Header == "" {
		c.Fail(spec.Total.At, fmt.Sprintf("`total` is a path, and a page of %s is its rows and nothing else", st.Format.Kind), "")
	}
}

// wants notes the columns that a table must have: those of the key and the mark.
func wants(st *Stream) {
	note := func(p notation.Path) {
		if len(p.Steps) > 0 && !slices.Contains(st.Records.Wants, p.Steps[0]) {
			st.Records.Wants = append(st.Records.Wants, p.Steps[0])
		}
	}
	for _, part := range st.Key {
		if part.Binding == "" && st.Map == nil {
			note(part.Path)
		}
	}
	if st.Since != nil {
		note(st.Since.Field)
	}
}

// accepting returns headers that say which format is wanted, if they do not.
func accepting(headers []request.Field, f answer.Format) []request.Field {
	if slices.ContainsFunc(headers, func(h request.Field) bool { return h.Name == "Accept" }) {
		return headers
	}
	text := "application/json"
	if f.Kind != "" || f.Archive != "" {
		text = "*/*" // the types of the others have many names
	}
	return append(headers, request.Field{Name: "Accept", Value: notation.Template{Parts: []notation.Part{{Text: text}}}})
}

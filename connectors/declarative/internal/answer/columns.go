package answer

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// Columns are the names of the values in the arrays of a list: those of the file,
// those that stand at a path of the document, or those in the first array. The
// zero Columns have none.
type Columns struct {
	Names []string
	At    notation.Path
	First bool
}

func (c Columns) String() string {
	switch {
	case c.First:
		return " columns first"
	case c.At.Set:
		return " columns at " + c.At.Text
	case c.Names != nil:
		return " columns " + strings.Join(c.Names, ", ")
	}
	return ""
}

// member returns a name as it begins a member of an object: `"name":`.
func member(name string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(name) // a text always encodes
	return append(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), ':')
}

// namesIn returns the columns of all lists in doc, as members begin; nil if there are none.
func (c Columns) namesIn(doc []byte) (columns [][]byte, err error) {
	switch {
	case c.Names != nil:
		for _, name := range c.Names {
			columns = append(columns, member(name))
		}
	case c.At.Set:
		if found := c.At.In(doc); found.IsArray() {
			columns = columnsOf(within(doc, found))
		}
		if columns == nil {
			err = paging.BadPage("there is no array of different texts at `%s`, where `columns` looks for the names", c.At.Text)
		}
	}
	return columns, err
}

// columnsOf returns the names in an array; nil if they are not different texts.
func columnsOf(raw []byte) [][]byte {
	if raw[0] != '[' {
		return nil
	}
	columns, had := [][]byte{}, map[string]bool{}
	ok := true
	notation.Parse(raw).ForEach(func(_, value gjson.Result) bool {
		text, is := notation.TextOf(value)
		ok = is && value.Type == gjson.String && text != "" && !had[text]
		had[text] = true
		columns = append(columns, member(text))
		return ok
	})
	if !ok {
		return nil
	}
	return columns
}

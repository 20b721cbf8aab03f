package answer

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"

	"collect/connectors/declarative/internal/paging"
)

// mostColumns bounds a row. Each value takes as much memory as a record of a few
// bytes, until the row is one.
const mostColumns = 10_000

// fromCSV returns comma-separated values (RFC 4180) as an array of arrays of texts,
// the first row included: what names the columns is a matter of the shape. It
// returns nil if that row is missing.
//
// Every value is a text as it came. Inside quotes, a line break of two characters
// becomes one, and "" a quote.
func (f Format) fromCSV(body []byte, openEnd bool, most int) ([]byte, error) {
	body, err := checkText(body, "CSV")
	if err != nil {
		return nil, err
	}
	if err := checkEnd(body, openEnd); err != nil {
		return nil, err
	}
	for range f.Skip {
		_, body, _ = bytes.Cut(body, []byte{'\n'})
	}
	separator := cmp.Or(f.Separator, ',')
	if tooWide(body, separator) {
		return nil, paging.BadPage("a row of the page has more than %d columns", mostColumns)
	}
	rows := csv.NewReader(bytes.NewReader(body))
	rows.Comma, rows.FieldsPerRecord, rows.ReuseRecord = separator, -1, true
	doc, elements := append(make([]byte, 0, len(body)+len(body)/2), '['), 0
	for {
		row, err := rows.Read()
		if err == io.EOF && elements == 0 && f.Header {
			return nil, nil
		}
		if err == io.EOF {
			return append(doc, ']'), nil
		}
		if fault, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, paging.BadPage("line %d of the page is not valid CSV: %s", fault.Line+f.Skip, faultOf(fault.Err))
		}
		if err != nil {
			return nil, err // a reader of bytes has no other
		}
		if elements++; elements > most {
			return nil, tooMany(most)
		}
		if elements > 1 {
			doc = append(doc, ',')
		}
		for i, value := range row {
			doc = appendText(append(doc, "[,"[min(i, 1)]), value)
		}
		doc = append(doc, ']')
	}
}

// tooWide reports whether a row has more than mostColumns, before any is taken
// apart: the reader has no bound.
func tooWide(body []byte, separator rune) bool {
	quoted, columns, mark := false, 1, string(separator)[0]
	for _, c := range body {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			columns = 1
		case c == mark:
			if columns++; columns > mostColumns {
				return true
			}
		}
	}
	return false
}

// faultOf says why a line is no CSV.
func faultOf(err error) string {
	if errors.Is(err, csv.ErrBareQuote) {
		return "a quote stands inside a value that has none around it"
	}
	return "a value in quotes does not end, or something stands behind it"
}

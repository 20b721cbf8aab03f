package answer

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"collect/connectors/declarative/internal/paging"
)

// The formats of a page, and the archives that it may come in.
const (
	JSON  = "json"
	JSONL = "jsonl"
	CSV   = "csv"
	XML   = "xml"

	Gzip = "gzip"
	Zip  = "zip"
)

// A Format says how a page is written. The zero Format is JSON, as it came.
type Format struct {
	Kind      string // "" is JSON
	Separator rune   // of CSV, between two values; 0 is a comma
	Skip      int    // lines above the first row of CSV
	Header    bool   // the first row of CSV names the columns
	Archive   string // "" for none
	Entry     string // the name of the file in a zip archive, or a pattern for it; "" if there is one only
}

// String names the format, for comparison with another one; "" is JSON.
func (f Format) String() string {
	text := f.Kind
	if f.Separator != 0 {
		text += " by " + string(f.Separator)
	}
	if f.Skip > 0 {
		text += " below " + strconv.Itoa(f.Skip)
	}
	if f.Archive != "" {
		text += " in " + f.Archive + " " + f.Entry
	}
	return text
}

// IsRows reports whether a page is a list of rows and nothing beside them: what
// says where the next page is cannot stand in it.
func (f Format) IsRows() bool { return f.Kind == CSV || f.Kind == JSONL }

// A Body is what came, in memory or in a file.
type Body interface {
	io.ReaderAt
	Size() int64
}

// Document returns a page as one JSON document, and nil if there is none. That of
// JSON is the body itself; what becomes of the others is written at [Rows] and
// [fromXML]. openEnd is whether nothing but the end of the connection told where
// the body ends. No archive may hold more than limit bytes, and no row more than
// twice those of a record.
func (f Format) Document(body []byte, openEnd bool, limit, record int64) ([]byte, error) {
	if f.IsRows() {
		rows, err := f.Rows(bytes.NewReader(body), openEnd, limit, record)
		if err != nil {
			return nil, err
		}
		doc, last, err := rows.Document(math.MaxInt64, int64(rows.most))
		if err == nil && !last {
			err = tooMany(rows.most)
		}
		return doc, err
	}
	if f.Archive != "" {
		from, err := f.unpack(bytes.NewReader(body), limit)
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(from); err != nil {
			return nil, err
		}
	}
	if f.Kind == XML {
		return fromXML(body)
	}
	return CheckJSON(body)
}

// checkText returns body without the mark at its beginning if it is UTF-8 text.
func checkText(body []byte, want string) ([]byte, error) {
	if err := checkHead(body[:min(len(body), 64)], want); err != nil {
		return nil, err
	}
	if !utf8.Valid(body) {
		return nil, notUTF8()
	}
	return bytes.TrimPrefix(body, byteOrderMark), nil
}

// checkHead refuses a text that begins as something else than is wanted.
func checkHead(head []byte, want string) error {
	if zero := bytes.IndexByte(head, 0); bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) || zero >= 0 && zero < 4 {
		return paging.BadPage("the page is UTF-16 text, which is not read: ask the provider for UTF-8")
	}
	start := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, byteOrderMark)))
	if want != "XML" && bytes.HasPrefix(start, []byte("<")) || bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")) {
		return paging.BadPage("the page is HTML, not %s", want)
	}
	return nil
}

package answer

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"collect/collection"
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

// Document returns a page as one JSON document, and nil if there is none. That of
// JSON is the body itself; what becomes of the others is written at [fromLines],
// [fromCSV] and [fromXML]. openEnd is whether nothing but the end of the
// connection told where the body ends. No archive may hold more than limit bytes.
func (f Format) Document(body []byte, openEnd bool, limit int64) (doc []byte, err error) {
	switch f.Archive {
	case Gzip:
		body, err = fromGzip(body, limit)
	case Zip:
		body, err = fromZip(body, f.Entry, limit)
	}
	if err != nil {
		return nil, err
	}
	switch most := mostElements(limit); f.Kind {
	case JSONL:
		return fromLines(body, openEnd, most)
	case CSV:
		return f.fromCSV(body, openEnd, most)
	case XML:
		return fromXML(body)
	}
	return CheckJSON(body)
}

// fromLines returns lines of JSON as an array, each as it came. Blank lines count
// for nothing.
func fromLines(body []byte, openEnd bool, most int) ([]byte, error) {
	body, err := checkText(body, "JSON lines")
	if err != nil {
		return nil, err
	}
	if err := checkEnd(body, openEnd); err != nil {
		return nil, err
	}
	doc, number, elements := append(make([]byte, 0, len(body)+2), '['), 0, 0
	for line := range bytes.Lines(body) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return nil, paging.BadPage("line %d of the page is not valid JSON", number)
		}
		if elements++; elements > most {
			return nil, tooMany(most)
		}
		if elements > 1 {
			doc = append(doc, ',')
		}
		doc = append(doc, line...)
	}
	return append(doc, ']'), nil
}

// checkText returns body without the mark at its beginning if it is UTF-8 text.
func checkText(body []byte, want string) ([]byte, error) {
	head := body[:min(len(body), 64)]
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("\xfe\xff")), bytes.IndexByte(head, 0) >= 0 && bytes.IndexByte(head, 0) < 4:
		return nil, paging.BadPage("the page is UTF-16 text, which is not read: ask the provider for UTF-8")
	case !utf8.Valid(body):
		return nil, paging.BadPage("the page is not UTF-8 text")
	}
	body = bytes.TrimPrefix(body, byteOrderMark)
	start := bytes.ToLower(bytes.TrimSpace(head))
	if want != "XML" && bytes.HasPrefix(start, []byte("<")) || bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html")) {
		return nil, paging.BadPage("the page is HTML, not %s", want)
	}
	return body, nil
}

// checkEnd refuses rows that may be cut off. Where a length or an end mark came
// with the body, the client has seen that it is whole; the last row of any other
// one is known to be whole only if a line break follows.
func checkEnd(body []byte, openEnd bool) error {
	if openEnd && len(body) > 0 && body[len(body)-1] != '\n' {
		return paging.BadPage("the last line of the page does not end, and the answer did not say how long it is: it may be cut off")
	}
	return nil
}

// tooLarge is the error for what is larger, taken out of its archive, than a body
// may be.
func tooLarge() error {
	return &collection.Stop{Reason: collection.TooLarge, Detail: "the page, taken out of its archive, is larger than `body` under `limits` allows"}
}

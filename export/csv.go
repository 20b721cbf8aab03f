package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"

	"collect/store"
)

// A table writes records as CSV.
type table struct {
	Options
	out    io.Writer
	csv    *csv.Writer    // buffers for out
	column map[string]int // of a field
	row    []string       // used again for each record
}

// newTable writes the header. A stream without fields has none.
func newTable(w io.Writer, fields []string, o Options) (*table, error) {
	var header []string
	if o.Meta {
		header = append(header, "_key", "_committed_at", "_run")
	}
	if o.Deleted {
		header = append(header, "_deleted_at")
	}
	t := &table{out: w, csv: csv.NewWriter(w), Options: o, column: make(map[string]int, len(fields))}
	for _, field := range fields {
		t.column[field] = len(header)
		header = append(header, guarded(field))
	}
	t.row = header
	if len(header) == 0 {
		return t, nil
	}
	return t, t.put()
}

// errNewField: the header is written, so that a field it does not have cannot
// be added, and leaving it out would be silent loss.
var errNewField = errors.New("it has a field that is not in the header: the stream gained it just now, or has more than 2000: export as jsonl")

func (t *table) write(r store.Stored) error {
	clear(t.row)
	lead := t.row
	if t.Meta {
		lead[0], lead[1], lead[2] = guarded(r.Key), r.CommittedAt.UTC().Format(time.RFC3339Nano), r.Run
		lead = lead[3:]
	}
	if t.Deleted && r.Deleted {
		lead[0] = r.DeletedAt.UTC().Format(time.RFC3339Nano)
	}
	var err error
	// The string shares the bytes of the record, which do not change.
	object := gjson.Parse(unsafe.String(unsafe.SliceData(r.Data), len(r.Data))) // #nosec G103 -- as it says above
	if !object.IsObject() {
		return errNotObject
	}
	object.ForEach(func(name, value gjson.Result) bool {
		i, ok := t.column[name.Str]
		if !ok {
			err = errNewField
			return false
		}
		t.row[i], err = cell(value)
		return err == nil
	})
	if err != nil {
		return err
	}
	return t.put()
}

// cell returns a value as the text of a cell.
func cell(v gjson.Result) (string, error) {
	switch v.Type {
	case gjson.Null:
		return "", nil
	case gjson.String:
		return guarded(v.Str), nil
	case gjson.JSON:
		var flat bytes.Buffer
		if err := json.Compact(&flat, []byte(v.Raw)); err != nil {
			return "", errNotObject // the error of json may quote the record
		}
		if text := flat.String(); common(text) {
			return text, nil
		}
		return escaped.Replace(flat.String()), nil
	}
	return v.Raw, nil // a number as it was spelled, true, false
}

// guarded returns text that no spreadsheet runs, and that shows what it holds.
//
// See the OWASP page on CSV injection for the characters that begin a formula;
// a line feed does behind readers that trim, and the fullwidth forms do where a
// spreadsheet takes them for the others. A carriage return inside a cell ends
// the line for some readers, so that what follows it begins a cell; it becomes a
// line feed. Characters that turn the direction of writing, which let a text
// show as another one (Unicode TR 36), are left out.
func guarded(s string) string {
	if !common(s) {
		s = plain.Replace(s)
	}
	first, _ := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("=+-@\t\n＝＋－＠", first) && s != "" {
		return "'" + s
	}
	return s
}

var turning = []string{
	"\u061c", "\u200e", "\u200f", // marks
	"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", // embeddings and overrides
	"\u2066", "\u2067", "\u2068", "\u2069", // isolates
}

var (
	plain   = replacer(func(string) string { return "" }, "\r\n", "\n", "\r", "\n")
	escaped = replacer(func(s string) string { return strings.Trim(strconv.QuoteToASCII(s), `"`) }) // in JSON nothing is lost
)

func replacer(of func(string) string, more ...string) *strings.Replacer {
	for _, s := range turning {
		more = append(more, s, of(s))
	}
	return strings.NewReplacer(more...)
}

// common reports whether s has none of the bytes that plain looks for, as nearly
// all text.
func common(s string) bool {
	return strings.IndexByte(s, '\r') < 0 && !strings.Contains(s, "\u061c") && !strings.Contains(s, "\xe2\x80") && !strings.Contains(s, "\xe2\x81")
}

// put writes the row.
func (t *table) put() error {
	if len(t.row) == 1 && t.row[0] == "" {
		// csv.Writer would make an empty line of it, which readers skip.
		if err := t.flush(); err != nil {
			return err
		}
		_, err := io.WriteString(t.out, "\"\"\n")
		return err
	}
	if len(t.row) == 0 {
		return nil // no record has a field
	}
	return t.csv.Write(t.row)
}

// flush writes the buffered rows.
func (t *table) flush() error {
	t.csv.Flush()
	return t.csv.Error()
}

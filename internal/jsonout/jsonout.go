// Package jsonout writes JSON for programs: every object says its version,
// times are RFC 3339 in UTC, and a value that is not known is null.
package jsonout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"collect/internal/words"
)

// Version is the version of the names and fields in the output. Within it they
// are only ever added.
const Version = 1

// Time is a time in JSON: RFC 3339 in UTC with milliseconds, null for none.
type Time time.Time

// MarshalJSON returns the time as a string, or null for the zero time.
func (t Time) MarshalJSON() ([]byte, error) {
	at := time.Time(t)
	if at.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.String())
}

// String returns the time as JSON has it, for a log that is text.
func (t Time) String() string { return time.Time(t).UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// OrNull returns n for JSON, where a zero that stands for "not known" is null.
func OrNull[T comparable](n T) *T {
	var zero T
	if n == zero {
		return nil
	}
	return &n
}

// Text returns s fit to be shown, and null if nothing is left of it.
func Text(s string) *string { return OrNull(words.Clean(s)) }

// Print writes v, an object or a list of them, with its last newline. Each
// object begins with its version.
func Print(w io.Writer, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		_, err := w.Write(versioned(text))
		return err
	}
	all := make([][]byte, len(list))
	for i := range list {
		all[i] = bytes.TrimSpace(versioned(list[i]))
	}
	_, err = w.Write(append(append([]byte("["), bytes.Join(all, []byte(","))...), "]\n"...))
	return err
}

// Line writes v as one line, in one Write.
func Line(w io.Writer, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

// versioned returns a JSON object with its version in front.
func versioned(object []byte) []byte {
	rest, ok := bytes.CutPrefix(object, []byte("{"))
	if !ok || bytes.HasPrefix(rest, []byte(`"v":`)) {
		return object
	}
	comma := ","
	if bytes.HasPrefix(rest, []byte("}")) {
		comma = ""
	}
	return append(fmt.Appendf(nil, `{"v":%d%s`, Version, comma), rest...)
}

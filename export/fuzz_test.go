package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/export"
	"collect/store"
)

// one is a store of one record.
type one struct {
	store.Reader
	record collection.Record
}

func (o one) Fields(context.Context, string, string) (fields []string, err error) {
	seen := map[string]bool{}
	gjson.ParseBytes(o.record.Data).ForEach(func(name, _ gjson.Result) bool {
		if !seen[name.Str] {
			fields = append(fields, name.Str)
		}
		seen[name.Str] = true
		return true
	})
	return fields, nil
}

func (o one) Records(context.Context, string, string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) { yield(store.Stored{Record: o.record}, nil) }
}

// object reports whether data is a record that a store would hold.
func object(data []byte) bool {
	return utf8.Valid(data) && json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}

// FuzzJSONL: a record is one line, which holds the same tokens, byte for byte.
func FuzzJSONL(f *testing.F) {
	f.Add("k", []byte("{\"n\" : 1.0,\r\n \"s\":\"a\\nb\u2028\"}"), true)
	f.Add("k\"\n", []byte(" \t{ }"), true)
	f.Add("", []byte("{\n\"_key\":1e400}"), false)
	f.Fuzz(func(t *testing.T, key string, data []byte, withMeta bool) {
		if !object(data) || !utf8.ValidString(key) {
			return
		}
		var out strings.Builder
		if _, err := export.Write(t.Context(), &out, one{record: record(key, string(data))}, "c", "s", export.JSONL, export.Options{Meta: withMeta}); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		line, ok := strings.CutSuffix(out.String(), "\n")
		if !ok || strings.ContainsAny(line, "\r\n") {
			t.Fatalf("%q: %q is not one line", data, out.String())
		}
		var got, want bytes.Buffer
		if err := json.Compact(&got, []byte(line)); err != nil {
			t.Fatalf("%q: %q: %v", data, line, err)
		}
		_ = json.Compact(&want, data) // it is valid
		if !withMeta {
			if got.String() != want.String() {
				t.Errorf("%q: %q, want the same tokens", data, line)
			}
			return
		}
		var about struct {
			Key string `json:"_key"`
		}
		head, _, _ := strings.Cut(got.String(), `,"_run":`)
		if err := json.Unmarshal([]byte(head+"}"), &about); err != nil || about.Key != key {
			t.Errorf("%q: key %q, %v, want %q", line, about.Key, err, key)
		}
		if rest := strings.TrimPrefix(want.String(), "{"); !strings.HasSuffix(got.String(), rest) {
			t.Errorf("%q: %q, want it to end with %q", data, line, rest)
		}
	})
}

// FuzzCSV: a reader of CSV gets every value back, as text, and no text that a
// spreadsheet would run.
func FuzzCSV(f *testing.F) {
	f.Add([]byte(`{"a":"=1+2","b":-5,"c":{"d": [1.0, "x"]},"e":null,"f":true}`))
	f.Add([]byte(`{"":""}`))
	f.Add([]byte(`{"=a":"\t","b\"c,":"two\nlines","a\u0000":"\r\n"}`))
	f.Add([]byte(`{"a":1,"a":"later"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !object(data) {
			return
		}
		var out strings.Builder
		if _, err := export.Write(t.Context(), &out, one{record: record("k", string(data))}, "c", "s", export.CSV, export.Options{}); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil {
			t.Fatalf("%q: %q: %v", data, out.String(), err)
		}
		want := map[string]gjson.Result{}
		gjson.ParseBytes(data).ForEach(func(name, value gjson.Result) bool {
			want[name.Str] = value
			return true
		})
		if len(want) == 0 {
			if len(rows) != 0 {
				t.Errorf("%q: rows %q of a record without a field", data, rows)
			}
			return
		}
		if len(rows) != 2 || len(rows[0]) != len(want) || len(rows[1]) != len(want) {
			t.Fatalf("%q: rows %q, want a header and a record of %d cells", data, rows, len(want))
		}
		fields, _ := one{record: record("k", string(data))}.Fields(t.Context(), "", "")
		for i, name := range fields {
			checkCell(t, rows[0][i], name)
			switch value := want[name]; value.Type {
			case gjson.String:
				checkCell(t, rows[1][i], value.Str)
			case gjson.Null:
				checkCell(t, rows[1][i], "")
			case gjson.JSON:
				if !sameJSON(rows[1][i], value.Raw) {
					t.Errorf("%q: the cell is %q, want %q", data, rows[1][i], value.Raw)
				}
			default:
				if rows[1][i] != value.Raw {
					t.Errorf("%q: the cell is %q, want %q", data, rows[1][i], value.Raw)
				}
			}
		}
	})
}

// checkCell checks a cell that holds text.
func checkCell(t *testing.T, got, text string) {
	t.Helper()
	if got != "" && strings.ContainsRune("=+-@\t\r", rune(got[0])) {
		t.Errorf("the cell %q begins as a formula", got)
	}
	// Readers of CSV take \r\n inside a cell for \n.
	plain := strings.ReplaceAll(text, "\r\n", "\n")
	if got != plain && got != "'"+plain && got != "'"+text {
		t.Errorf("the cell is %q, want %q", got, text)
	}
}

// sameJSON reports whether two texts hold the same tokens.
func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil && x.String() == y.String()
}

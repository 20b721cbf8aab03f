package export_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/export"
	"collect/store"
	"collect/store/sqlite"
)

// exported stores records in pages of one and exports them.
func exported(t *testing.T, format export.Format, o export.Options, records ...collection.Record) (string, error) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := collection.Run{ID: "run-1", Connector: "acme", Lane: collection.Incremental, StartedAt: time.Now()}
	l, err := s.Begin(t.Context(), run, []collection.Stream{{Name: "issues"}})
	if err != nil {
		t.Fatal(err)
	}
	at, from := collection.Place{Stream: "issues", Lane: collection.Incremental}, collection.Cursor{}
	for i, r := range records {
		next := collection.Cursor{Token: fmt.Sprint(i + 1)}
		if _, err := l.Commit(t.Context(), collection.Slice{Place: at, From: from, Next: next, Records: []collection.Record{r}}); err != nil {
			t.Fatal(err)
		}
		from = next
	}
	var out strings.Builder
	n, err := export.Write(t.Context(), &out, s, "acme", "issues", format, o)
	if err == nil && n != int64(len(records)) {
		t.Errorf("Write = %d, want %d", n, len(records))
	}
	return out.String(), err
}

func record(key, data string) collection.Record {
	return collection.Record{Key: key, Data: []byte(data)}
}

func TestJSONL(t *testing.T) {
	got, err := exported(t, export.JSONL, export.Options{},
		record("b", `{"big":12345678901234567890.10, "e":1E+2,"s":"a<&>\u2028\/é"}`),
		record("a10", "{\r\n  \"n\" : [ 1.0, 2 ],\n\t\"s\" : \"two  spaces \\n\"\n}\n"),
		record("a9", ` {"keeps": "its spaces"} `),
		record("B", `{}`),
	)
	// In the order of the bytes of the keys: B, a10, a9, b.
	want := "{}\n" +
		`{"n":[1.0,2],"s":"two  spaces \n"}` + "\n" +
		` {"keeps": "its spaces"} ` + "\n" +
		`{"big":12345678901234567890.10, "e":1E+2,"s":"a<&>\u2028\/é"}` + "\n"
	if got != want || err != nil {
		t.Errorf("JSONL = %q, %v, want %q", got, err, want)
	}
}

func TestJSONLWithMeta(t *testing.T) {
	got, err := exported(t, export.JSONL, export.Options{Meta: true},
		record("a\"<é", `{"n":1.0}`), record("b", "{ }"), record("c", " \n{\n\"n\":2}"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("JSONL = %q, want 3 lines", got)
	}
	for i, line := range lines {
		var about struct {
			Key         string    `json:"_key"`
			CommittedAt time.Time `json:"_committed_at"`
			Run         string    `json:"_run"`
		}
		err := json.Unmarshal([]byte(line), &about)
		if want := []string{"a\"<é", "b", "c"}[i]; err != nil || about.Key != want || about.Run != "run-1" || time.Since(about.CommittedAt) > time.Minute {
			t.Errorf("line %q = %+v, %v, want key %q of run-1, now", line, about, err, want)
		}
		if want := []string{`,"n":1.0}`, `"run-1" }`, `,"n":2}`}[i]; !strings.HasSuffix(line, want) {
			t.Errorf("line %q, want it to end with %q", line, want)
		}
	}
}

func TestCSV(t *testing.T) {
	got, err := exported(t, export.CSV, export.Options{},
		record("1", `{"id":10.50,"title":"a, \"b\"","user":{"login": "operator", "n":[1.0]},"open":true}`),
		record("2", `{"title":null,"=new":-5,"id":-7}`),
		record("3", `{"title":"two\nlines","id":"007"}`),
	)
	want := "id,title,user,open,'=new\n" +
		`10.50,"a, ""b""","{""login"":""operator"",""n"":[1.0]}",true,` + "\n" +
		"-7,,,,-5\n" +
		"007,\"two\nlines\",,,\n"
	if got != want || err != nil {
		t.Errorf("CSV = %q, %v, want %q", got, err, want)
	}
}

// TestCSVIsNoProgram: no cell of text begins as a formula, and no number is
// changed for that.
func TestCSVIsNoProgram(t *testing.T) {
	cells := map[string]string{
		`"=1+2"`: "'=1+2", `"+1"`: "'+1", `"-1"`: "'-1", `"@x"`: "'@x", `"\t=1"`: "'\t=1", `"\r=1"`: "'\n=1",
		`"\n=1"`: "'\n=1", `"\u202e=1"`: "'=1", `"\uff1d1"`: "'＝1", `"\uff20x"`: "'＠x", `"a\r=1"`: "a\n=1", `"a\r\n=1"`: "a\n=1",
		`"gpj\u202e.exe\u2066\u2069"`: "gpj.exe", `"{}\u200f"`: "{}", "{\"a\":\"\u202e=1\"}": `{"a":"\u202e=1"}`,
		`-1`: "-1", `"a=1"`: "a=1", `""`: "", `"'"`: "'", `1e5`: "1e5",
	}
	var records []collection.Record
	keys := slices.Sorted(func(yield func(string) bool) {
		for k := range cells {
			if !yield(k) {
				return
			}
		}
	})
	for _, k := range keys {
		records = append(records, record(k, `{"x":`+k+`}`))
	}
	for _, withMeta := range []bool{false, true} {
		got, err := exported(t, export.CSV, export.Options{Meta: withMeta}, records...)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || len(rows) != len(cells)+1 {
			t.Fatalf("%d rows, %v, want %d:\n%s", len(rows), err, len(cells)+1, got)
		}
		for i, k := range keys {
			if cell := rows[i+1][len(rows[i+1])-1]; cell != cells[k] {
				t.Errorf("%s is %q in CSV, want %q", k, cell, cells[k])
			}
		}
		if withMeta && !slices.Equal(rows[0], []string{"_key", "_committed_at", "_run", "x"}) {
			t.Errorf("header = %q", rows[0])
		}
	}
}

func TestNothing(t *testing.T) {
	for _, format := range []export.Format{export.JSONL, export.CSV} {
		if got, err := exported(t, format, export.Options{}); got != "" || err != nil {
			t.Errorf("%s of no records = %q, %v, want nothing", format, got, err)
		}
	}
	if _, err := exported(t, "xml", export.Options{}); err == nil {
		t.Error("Write as xml succeeded")
	}
}

// many is a store of one stream of n records, made when they are read.
type many struct {
	store.Reader
	n      int
	fields []string
	err    error // after the records
}

func (m many) Fields(context.Context, string, string) ([]string, error) { return m.fields, nil }

func (m many) Records(context.Context, string, string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) {
		for i := range m.n {
			r := store.Stored{Record: record(fmt.Sprint(i), fmt.Sprintf(`{"id":%d,"title":"some text"}`, i))}
			if !yield(r, nil) {
				return
			}
		}
		if m.err != nil {
			yield(store.Stored{}, m.err)
		}
	}
}

// TestMemoryIsFlat exports a million records.
func TestMemoryIsFlat(t *testing.T) {
	for _, format := range []export.Format{export.JSONL, export.CSV} {
		out := &watermark{}
		n, err := export.Write(t.Context(), out, many{n: 1_000_000, fields: []string{"id", "title"}}, "acme", "issues", format, export.Options{})
		if n != 1_000_000 || err != nil {
			t.Errorf("Write as %s = %d, %v", format, n, err)
		}
		if out.samples < 10 || out.highest > 64<<20 {
			t.Errorf("%s: the heap reached %d bytes in %d samples, want it flat", format, out.highest, out.samples)
		}
	}
}

// A watermark notes the heap from time to time while it is written to.
type watermark struct {
	written, samples int
	highest          uint64
}

func (w *watermark) Write(p []byte) (int, error) {
	if w.written += len(p); w.written>>20 > w.samples {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.samples, w.highest = w.samples+1, max(w.highest, m.HeapAlloc)
	}
	return len(p), nil
}

// TestErrors: an error ends the export, and tells nothing of a record's
// content.
func TestErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, format := range []export.Format{export.JSONL, export.CSV} {
		m := many{n: 10_000, fields: []string{"id", "title"}, err: full}
		if n, err := export.Write(t.Context(), io.Discard, m, "acme", "issues", format, export.Options{Meta: true}); n != 10_000 || !errors.Is(err, full) {
			t.Errorf("%s: Write = %d, %v, want %v after 10000 records", format, n, err, full)
		}
		if _, err := export.Write(t.Context(), closed{}, m, "acme", "issues", format, export.Options{Meta: true}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: error = %v, want %v", format, err, io.ErrClosedPipe)
		}
	}
	m := many{n: 1, fields: []string{"id"}}
	if _, err := export.Write(t.Context(), io.Discard, m, "acme", "issues", export.CSV, export.Options{}); err == nil || strings.Contains(err.Error(), "title") {
		t.Errorf("a field beyond the header: error = %v, want one that does not quote the record", err)
	}
	for _, data := range []string{"secret", "[\n\"secret\"", "\n{\"secret\":}"} {
		for _, format := range []export.Format{export.JSONL, export.CSV} {
			if _, err := exported(t, format, export.Options{Meta: true}, record("1", data)); err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s of %q: error = %v, which quotes the record", format, data, err)
			}
		}
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func BenchmarkWrite(b *testing.B) {
	for _, format := range []export.Format{export.JSONL, export.CSV} {
		b.Run(string(format), func(b *testing.B) {
			m := many{n: 1000, fields: []string{"id", "title"}}
			for b.Loop() {
				if _, err := export.Write(b.Context(), io.Discard, m, "acme", "issues", format, export.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDeleted leaves out what the provider deleted, unless it is asked for.
func TestDeleted(t *testing.T) {
	gone := func(key string) collection.Record { return collection.Record{Key: key, Deleted: true} }
	records := []collection.Record{record("a", `{"id":"a"}`), record("b", `{"id":"b"}`), gone("b"), gone("c")}
	store := func(format export.Format, o export.Options) string {
		t.Helper()
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		l, err := s.Begin(t.Context(), collection.Run{ID: "run-1", Connector: "acme", Lane: collection.Incremental, StartedAt: time.Now()}, []collection.Stream{{Name: "issues"}})
		if err != nil {
			t.Fatal(err)
		}
		from := collection.Cursor{}
		for i, r := range records {
			next := collection.Cursor{Token: fmt.Sprint(i + 1)}
			if _, err := l.Commit(t.Context(), collection.Slice{Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, From: from, Next: next, Records: []collection.Record{r}}); err != nil {
				t.Fatal(err)
			}
			from = next
		}
		var out strings.Builder
		if _, err := export.Write(t.Context(), &out, s, "acme", "issues", format, o); err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`2\d{3}-\d\d-\d\dT[\d:.]+Z`).ReplaceAllString(out.String(), "T")
	}
	for _, test := range []struct {
		format export.Format
		o      export.Options
		want   string
	}{
		{export.JSONL, export.Options{}, "{\"id\":\"a\"}\n"},
		{export.JSONL, export.Options{Deleted: true}, "{\"_deleted_at\":null,\"id\":\"a\"}\n{\"_deleted_at\":\"T\",\"id\":\"b\"}\n{\"_deleted_at\":\"T\"}\n"},
		{export.JSONL, export.Options{Meta: true}, "{\"_key\":\"a\",\"_committed_at\":\"T\",\"_run\":\"run-1\",\"id\":\"a\"}\n"},
		{export.CSV, export.Options{}, "id\na\n"},
		{export.CSV, export.Options{Deleted: true}, "_deleted_at,id\n,a\nT,b\nT,\n"},
		{export.CSV, export.Options{Meta: true, Deleted: true}, "_key,_committed_at,_run,_deleted_at,id\na,T,run-1,,a\nb,T,run-1,T,b\nc,T,run-1,T,\n"},
	} {
		if got := store(test.format, test.o); got != test.want {
			t.Errorf("%s with %+v = %q, want %q", test.format, test.o, got, test.want)
		}
	}
}

package declarative

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"collect/collection"
	"collect/connectors/declarative/internal/answer"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
	"collect/connectors/declarative/internal/request"
	"collect/connectors/declarative/internal/since"
	"collect/internal/yamlfile"
)

// KeptMark returns a mark as the store keeps it with a record.
func KeptMark(text string) collection.Mark {
	record, _ := json.Marshal(map[string]string{"f": text}) // strings always marshal
	return (&since.Since{Field: Path("f")}).MarkOf(record)
}

// Path returns a compiled path; "" stands for none.
func Path(text string) notation.Path {
	if text == "" {
		return notation.Path{}
	}
	d := &yamlfile.Decoder{}
	return notation.PathOf(d, yamlfile.Scalar{Text: text, Set: true})
}

// PageReader returns what makes a slice of a body, and counts its records.
func PageReader(s *Spec, name string) func(body []byte, from collection.Cursor) (int, error) {
	c := &connector{spec: s.file, limits: collection.Limits{}.WithDefaults()}
	w := &walk{c: c, st: s.file.Stream(name)}
	return func(body []byte, from collection.Cursor) (int, error) {
		body, err := answer.CheckJSON(body)
		if err != nil {
			return 0, err
		}
		p := &paging.Page{Body: body}
		if p.Elements, _, err = (answer.Shape{}).Elements(body, false, 1<<28); err != nil {
			return 0, err
		}
		var s collection.Slice
		w.split(p, &s)
		since.MarksOf(w.st.Since.Field, s.Records)
		return len(s.Records), nil
	}
}

// Filter returns what applies a filter to one record.
func Filter(field, drop string) func(record []byte) []byte {
	var fields, drops []notation.Path
	if field != "" {
		fields = append(fields, Path(field))
	}
	if drop != "" {
		drops = append(drops, Path(drop))
	}
	f := answer.NewFilter(fields, drops)
	return func(record []byte) []byte { return f.Apply([][]byte{record})[0] }
}

// Keys returns every key of the language.
func Keys() []string { return keysOf(reflect.TypeFor[language.Document]()) }

func keysOf(t reflect.Type) (keys []string) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		return keysOf(t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(t) {
		if key := field.Tag.Get("yaml"); key != "" {
			keys = append(append(keys, key), keysOf(field.Type)...)
		} else if field.Name == "Value" { // of an entry of a mapping
			keys = append(keys, keysOf(field.Type)...)
		}
	}
	return keys
}

// Resolve returns the URL of a link.
var Resolve = request.Resolve

// WithoutParam takes a parameter out of a link.
func WithoutParam(link, name string) string {
	return request.WithoutParams(link, func(n, _ string) bool { return n == name })
}

// Advance reads a page of records in the window of a cursor, as a walk with
// since does, and returns what it asked for and the cursor after it.
func Advance(ordered bool, from collection.Cursor, start string, records []collection.Record, token string, clock time.Time) (asked string, next collection.Cursor, err error) {
	s := &since.Since{Field: Path("at"), Ordered: ordered}
	f, err := since.FootingOf(from.High)
	if err != nil {
		return "", from, err
	}
	w, err := s.Open(from, f, start)
	if err != nil {
		return "", from, err
	}
	next, err = s.Advance(&w, from, since.MarksOf(s.Field, records), token, clock)
	return w.Asked, next, err
}

// A Key is a key of a block of the language, as its tags describe it.
type Key struct{ Name, Default, Form, About, More string }

// Blocks returns the keys of all blocks that are supported, by the names of the
// blocks.
func Blocks() map[string][]Key {
	blocks, seen := map[string][]Key{}, map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		name := strings.ToLower(strings.TrimSuffix(t.Name(), "Spec"))
		if blocks[name] != nil {
			return
		}
		for _, field := range reflect.VisibleFields(t) {
			if key := field.Tag.Get("yaml"); key != "" && field.Tag.Get("about") != "not supported yet" {
				blocks[name] = append(blocks[name], Key{key, field.Tag.Get("default"), field.Tag.Get("form"), field.Tag.Get("about"), field.Tag.Get("more")})
			}
			if !field.Anonymous {
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[language.Document]())
	return blocks
}

package declarative

import (
	"reflect"
	"strings"
	"time"

	"collect/collection"
)

// For the fuzz tests and benchmarks of what eats foreign input.
var (
	LinkTarget = linkTarget
	CheckJSON  = checkJSON
	Elements   = elements
)

// CompareMarks orders two marks as since does.
func CompareMarks(a, b string) int { return newMark(a).compare(newMark(b)) }

// KeptMark returns a mark as the store keeps it with a record.
func KeptMark(text string) collection.Mark { return newMark(text).of(Path("f")) }

// Path returns a compiled path; "" stands for none.
func Path(text string) path {
	if text == "" {
		return path{}
	}
	d := &decoder{}
	return d.path(scalar{text: text, set: true})
}

// PageReader returns what makes a slice of a body, and counts its records.
func PageReader(s *Spec, name string) func(body []byte, from collection.Cursor) (int, error) {
	c := &connector{spec: s, limits: collection.Limits{}.WithDefaults()}
	w := &walk{c: c, st: s.stream(name)}
	return func(body []byte, from collection.Cursor) (int, error) {
		body, err := checkJSON(body)
		if err != nil {
			return 0, err
		}
		p := &page{body: body}
		if p.elements, err = elements(body, path{}, false, 1<<20); err != nil {
			return 0, err
		}
		var s collection.Slice
		w.split(p, &s)
		w.st.since.marksOf(s.Records)
		return len(s.Records), nil
	}
}

// Keys returns every key of the language.
func Keys() []string { return keysOf(reflect.TypeFor[document]()) }

func keysOf(t reflect.Type) (keys []string) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		return keysOf(t.Elem())
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for field := range t.Fields() {
		if key := field.Tag.Get("yaml"); key != "" {
			keys = append(append(keys, key), keysOf(field.Type)...)
		} else if field.Name == "value" { // of an entry of a mapping
			keys = append(keys, keysOf(field.Type)...)
		}
	}
	return keys
}

// Resolve returns the URL of a link.
var Resolve = resolve

// WithoutParam takes a parameter out of a link.
func WithoutParam(link, name string) string {
	return withoutParams(link, func(n, _ string) bool { return n == name })
}

// Advance reads a page of records in the window of a cursor, as a walk with
// since does, and returns what it asked for and the cursor after it.
func Advance(ordered bool, from collection.Cursor, start string, records []collection.Record, token string, clock time.Time) (asked string, next collection.Cursor, err error) {
	s := &since{field: Path("at"), ordered: ordered}
	w, err := s.open(from, start)
	if err != nil {
		return "", from, err
	}
	next, err = s.advance(&w, from, s.marksOf(records), token, clock)
	return w.asked, next, err
}

// A Key is a key of a block of the language, as its tags describe it.
type Key struct{ Name, Default, Form, About, More string }

// Blocks returns the keys of all blocks that are supported, by the names of the
// blocks.
func Blocks() map[string][]Key {
	blocks := map[string][]Key{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		name := strings.TrimSuffix(t.Name(), "Spec")
		if blocks[name] != nil {
			return
		}
		for field := range t.Fields() {
			if key := field.Tag.Get("yaml"); key != "" && field.Tag.Get("about") != "not supported yet" {
				blocks[name] = append(blocks[name], Key{key, field.Tag.Get("default"), field.Tag.Get("form"), field.Tag.Get("about"), field.Tag.Get("more")})
			}
			visit(field.Type)
		}
	}
	visit(reflect.TypeFor[document]())
	return blocks
}

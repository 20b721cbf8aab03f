package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/usual"
	"collect/internal/similar"
	"collect/internal/yamlfile"
)

// Value returns the JSON scalar that b stands for.
func (b binding) Value(parent collection.Parent, vars map[string]json.RawMessage) (json.RawMessage, bool) {
	if b.inherited != "" {
		raw := vars[b.inherited]
		return raw, len(raw) > 0
	}
	found := b.path.In(parent.Data)
	if text, ok := notation.TextOf(found); !ok || text == "" {
		return nil, false
	}
	return json.RawMessage(found.Raw), true
}

// RawText returns the text of a JSON scalar.
func RawText(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	return notation.TextOf(notation.Parse(raw))
}

// each compiles the bindings of a stream to its parent.
func (c *checker) each(spec language.StreamSpec, st *Stream) {
	before := len(c.Faults)
	st.each = eachText(spec.Each)
	for _, e := range spec.Each {
		if e.Key.Text == "when" {
			continue // after the parent is known
		}
		d := &yamlfile.Decoder{}
		p := notation.PathOf(d, e.Value)
		parent, known := c.doc.Streams.Find(p.Steps[0])
		switch {
		case len(d.Faults) > 0 || len(p.Steps) < 2:
			c.Fail(e.Value.At, "this must be a stream and a field of its records, such as repos.name", "")
			continue
		case !known:
			f := yamlfile.Fault{At: e.Value.Inside(0, len(p.Steps[0])), Message: fmt.Sprintf("unknown stream `%s`", p.Steps[0])}
			if near := similar.To(p.Steps[0], c.doc.Streams.Keys()); near != "" {
				f.Note = fmt.Sprintf("there is a stream with a similar name: `%s`", near)
			}
			c.Faults = append(c.Faults, f)
			continue
		case p.Steps[0] == st.Name:
			c.Fail(e.Value.At, "a stream cannot be its own parent", "")
			continue
		case st.Parent != "" && st.Parent != p.Steps[0]:
			c.Fail(e.Value.At, fmt.Sprintf("all names of one `each` must come from one stream: `%s`", st.Parent), "")
			continue
		}
		st.Parent = p.Steps[0]
		b := binding{Name: e.Key.Text, path: p.After()}
		if len(p.Steps) == 2 && binds(parent, p.Steps[1]) {
			b.inherited = p.Steps[1]
		}
		if b.Name == "changed" {
			st.Changed = &b
			continue
		}
		c.bindingName(e.Key)
		st.Each = append(st.Each, b)
	}
	if when, ok := spec.Each.Find("when"); ok && st.Parent != "" {
		st.When = notation.PredicateOf(&c.Decoder, when, map[string]any{st.Parent: map[string]any(nil), "params": map[string]string{}})
	}
	if len(spec.Each) > 0 && len(st.Each) == 0 && len(c.Faults) == before {
		c.Fail(spec.Each[0].Key.At, "`each` needs a name for a field of the parent", "")
	}
}

func (c *checker) bindingName(key yamlfile.Scalar) {
	language.CheckName(&c.Decoder, key)
	if slices.Contains(language.Unbindable[:], key.Text) {
		c.Fail(key.At, fmt.Sprintf("`%s` has a meaning of its own and cannot be bound", key.Text), "")
	}
}

// binds reports whether the partitions of a stream bind name.
func binds(spec language.StreamSpec, name string) bool {
	if name == "when" || name == "changed" {
		return false
	}
	_, ok := spec.Each.Find(name)
	return ok
}

// eachText returns the bindings of a stream as a file has them on one line.
func eachText(bindings yamlfile.Ordered[yamlfile.Scalar]) string {
	var text []string
	for _, e := range bindings {
		text = append(text, e.Key.Text+": "+yamlfile.Quote(e.Value.Text))
	}
	return strings.Join(text, ", ")
}

// WithChanged returns the `each` of a stream whose details are fetched once, with the
// `changed` that has them fetched again when their parent changes, of which record is a
// sample; it may be nil. known is false if no field is known that tells when a parent
// changed: any other field serves, since a parent with other bytes has changed, too.
func (f *File) WithChanged(st *Stream, record []byte) (each string, known bool) {
	field := ""
	if s := f.Stream(st.Parent).Since; s != nil {
		field, known = s.Field.Text, usual.ChangedField().MatchString(s.Field.Steps[len(s.Field.Steps)-1])
	}
	if !known {
		notation.Parse(record).ForEach(func(name, value gjson.Result) bool {
			if text, ok := notation.TextOf(value); ok && text != "" && usual.ChangedField().MatchString(name.Str) {
				field, known = name.Str, true
			}
			return !known
		})
	}
	if field == "" {
		field = st.Each[0].path.Text[len(st.Parent)+1:]
	}
	return fmt.Sprintf("each: {%s, changed: %s}", st.each, yamlfile.Quote(st.Parent+"."+field)), known
}

// parentsFirst sorts the streams so that each follows its parent, and
// otherwise as in the file. A circle is a fault.
func (c *checker) parentsFirst() {
	var sorted []*Stream
	state := map[string]int{} // 1: on the way, 2: done
	var visit func(st *Stream) bool
	visit = func(st *Stream) bool {
		switch state[st.Name] {
		case 1:
			return false
		case 2:
			return true
		}
		state[st.Name] = 1
		fine := st.Parent == "" || visit(c.spec.Stream(st.Parent))
		state[st.Name] = 2
		sorted = append(sorted, st)
		return fine
	}
	for _, st := range c.spec.Streams {
		if state[st.Name] == 0 && !visit(st) {
			e, _ := c.doc.Streams.Find(st.Name)
			c.Fail(e.Each[0].Key.At, "the parents of this stream form a circle: "+c.circle(st), "")
		}
	}
	c.spec.Streams = sorted
}

func (c *checker) circle(st *Stream) string {
	var seen []string
	for !slices.Contains(seen, st.Name) {
		seen = append(seen, st.Name)
		st = c.spec.Stream(st.Parent)
	}
	return strings.Join(append(seen, st.Name), ", ")
}

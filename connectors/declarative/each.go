package declarative

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"collect/collection"
)

// A binding gives a name to a value of the parent: of its record or, where the
// partition of the parent binds that name itself, of its partition.
type binding struct {
	name      string
	inherited string // the name that the parent's partition binds; "" for a value of its record
	path      path
}

// value returns the JSON scalar that b stands for.
func (b binding) value(parent collection.Parent, vars map[string]json.RawMessage) (json.RawMessage, bool) {
	if b.inherited != "" {
		raw := vars[b.inherited]
		return raw, len(raw) > 0
	}
	found := b.path.in(parent.Data)
	if text, ok := scalarText(found); !ok || text == "" {
		return nil, false
	}
	return json.RawMessage(found.Raw), true
}

// rawText returns the text of a JSON scalar.
func rawText(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	return scalarText(parse(raw))
}

// Partition returns the partition of a stream that parent stands for, as
// [connectors.Connector] says. A parent that lacks a value is an error, a
// *[collection.Stop] for schema_drift: to pass over it would be to miss what
// belongs to it without a word.
func (c *connector) Partition(stream string, parent collection.Parent) (p collection.Partition, version string, ok bool, err error) {
	st := c.spec.stream(stream)
	if st == nil || st.Parent == "" {
		return "", "", false, fmt.Errorf("%s: no such stream with a parent", stream)
	}
	inherited, err := parent.Partition.Vars()
	if err != nil {
		return "", "", false, fmt.Errorf("%s: %w", stream, err)
	}
	drift := func(what string) error {
		return fmt.Errorf("%s: %w", stream, &collection.Stop{Reason: collection.SchemaDrift, Detail: what})
	}
	if st.when != nil {
		record, err := decodeJSON(parent.Data)
		if err != nil {
			return "", "", false, drift("a parent is not JSON")
		}
		wanted, err := st.when.holds(map[string]any{st.Parent: record, "params": c.params})
		if err != nil {
			return "", "", false, drift("`when` cannot be computed for a parent")
		}
		if !wanted {
			return "", "", false, nil
		}
	}
	vars := make(map[string]json.RawMessage, len(st.each))
	for _, b := range st.each {
		raw, found := b.value(parent, inherited)
		if !found {
			return "", "", false, drift(fmt.Sprintf("a record of %s has no text or number for `%s`", st.Parent, b.name))
		}
		vars[b.name] = raw
	}
	if st.changed != nil {
		raw, found := st.changed.value(parent, inherited)
		if !found {
			return "", "", false, drift(fmt.Sprintf("a record of %s has no text or number for `changed`", st.Parent))
		}
		version, _ = rawText(raw)
	}
	return collection.NewPartition(vars), version, true, nil
}

// each compiles the bindings of a stream to its parent.
func (c *checker) each(spec streamSpec, st *stream) {
	before := len(c.faults)
	for _, e := range spec.Each {
		if e.key.text == "when" {
			continue // after the parent is known
		}
		d := &decoder{}
		p := d.path(e.value)
		parent, known := c.doc.Streams.find(p.steps[0])
		switch {
		case len(d.faults) > 0 || len(p.steps) < 2:
			c.fail(e.value.at, "this must be a stream and a field of its records, such as repos.name", "")
			continue
		case !known:
			f := fault{at: e.value.inside(0, len(p.steps[0])), message: fmt.Sprintf("unknown stream `%s`", p.steps[0])}
			if near := similar(p.steps[0], c.doc.Streams.keys()); near != "" {
				f.note = fmt.Sprintf("there is a stream with a similar name: `%s`", near)
			}
			c.faults = append(c.faults, f)
			continue
		case p.steps[0] == st.Name:
			c.fail(e.value.at, "a stream cannot be its own parent", "")
			continue
		case st.Parent != "" && st.Parent != p.steps[0]:
			c.fail(e.value.at, fmt.Sprintf("all names of one `each` must come from one stream: `%s`", st.Parent), "")
			continue
		}
		st.Parent = p.steps[0]
		b := binding{name: e.key.text, path: p.after()}
		if len(p.steps) == 2 && binds(parent, p.steps[1]) {
			b.inherited = p.steps[1]
		}
		if b.name == "changed" {
			st.changed = &b
			continue
		}
		c.bindingName(e.key)
		st.each = append(st.each, b)
	}
	if when, ok := spec.Each.find("when"); ok && st.Parent != "" {
		st.when = c.predicate(when, map[string]any{st.Parent: map[string]any(nil), "params": map[string]string{}})
	}
	if len(spec.Each) > 0 && len(st.each) == 0 && len(c.faults) == before {
		c.fail(spec.Each[0].key.at, "`each` needs a name for a field of the parent", "")
	}
}

// unbindable are names with a meaning of their own.
var unbindable = [...]string{"params", "secrets", "since", "text", "body"}

func (c *checker) bindingName(key scalar) {
	c.name(key)
	if slices.Contains(unbindable[:], key.text) {
		c.fail(key.at, fmt.Sprintf("`%s` has a meaning of its own and cannot be bound", key.text), "")
	}
}

// binds reports whether the partitions of a stream bind name.
func binds(spec streamSpec, name string) bool {
	if name == "when" || name == "changed" {
		return false
	}
	_, ok := spec.Each.find(name)
	return ok
}

// parentsFirst sorts the streams so that each follows its parent, and
// otherwise as in the file. A circle is a fault.
func (c *checker) parentsFirst() {
	var sorted []*stream
	state := map[string]int{} // 1: on the way, 2: done
	var visit func(st *stream) bool
	visit = func(st *stream) bool {
		switch state[st.Name] {
		case 1:
			return false
		case 2:
			return true
		}
		state[st.Name] = 1
		fine := st.Parent == "" || visit(c.spec.stream(st.Parent))
		state[st.Name] = 2
		sorted = append(sorted, st)
		return fine
	}
	for _, st := range c.spec.streams {
		if state[st.Name] == 0 && !visit(st) {
			e, _ := c.doc.Streams.find(st.Name)
			c.fail(e.Each[0].key.at, "the parents of this stream form a circle: "+c.circle(st), "")
		}
	}
	c.spec.streams = sorted
}

func (c *checker) circle(st *stream) string {
	var seen []string
	for !slices.Contains(seen, st.Name) {
		seen = append(seen, st.Name)
		st = c.spec.stream(st.Parent)
	}
	return strings.Join(append(seen, st.Name), ", ")
}

package declarative

import (
	"cmp"
	"encoding/json"
	"fmt"

	"collect/collection"
	"collect/connectors/declarative/internal/compile"
	"collect/connectors/declarative/internal/notation"
)

// Partition returns the partition of a stream that parent stands for, as
// [connectors.Connector] says. A parent that lacks a value is an error, a
// *[collection.Stop] for schema_drift: to pass over it would be to miss what
// belongs to it without a word.
func (c *connector) Partition(stream string, parent collection.Parent) (p collection.Partition, version string, ok bool, err error) {
	st := c.spec.Stream(stream)
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
	if st.When != nil {
		wanted, wrong := wants(st, parent.Data, c.params)
		if wrong != "" {
			return "", "", false, drift(wrong)
		}
		if !wanted {
			return "", "", false, nil
		}
	}
	vars := make(map[string]json.RawMessage, len(st.Each))
	for _, b := range st.Each {
		raw, found := b.Value(parent, inherited)
		if !found {
			return "", "", false, drift(fmt.Sprintf("a record of %s has no text or number for `%s`", st.Parent, b.Name))
		}
		vars[b.Name] = raw
	}
	if st.Changed != nil {
		raw, found := st.Changed.Value(parent, inherited)
		if !found {
			return "", "", false, drift(fmt.Sprintf("a record of %s has no text or number for `changed`", st.Parent))
		}
		version, _ = compile.RawText(raw)
	}
	return collection.NewPartition(vars), version, true, nil
}

// wants reports whether the `when` of a stream holds for a parent, or why that cannot be said.
func wants(st *compile.Stream, parent []byte, params map[string]string) (wanted bool, wrong string) {
	record, err := notation.DecodeJSON(parent)
	if err != nil {
		return false, "a parent is not JSON"
	}
	if wanted, err = st.When.Holds(map[string]any{st.Parent: record, "params": params}); err != nil {
		return false, "`when` cannot be computed for a parent"
	}
	return wanted, ""
}

// Wants returns what reports whether a stream asks for anything of a parent, which is given
// as it is stored; nil if it asks for something of all of them.
func (s *Spec) Wants(stream string, params map[string]string) func(parent []byte) bool {
	st := s.file.Stream(stream)
	if st == nil || st.When == nil {
		return nil
	}
	given := map[string]string{}
	for _, p := range s.file.Params {
		given[p.Name] = cmp.Or(params[p.Name], p.Default)
	}
	return func(parent []byte) bool {
		wanted, _ := wants(st, parent, given)
		return wanted
	}
}

// WithChanged returns what to write for a stream whose partitions are collected once, as
// [connectors.Reminder] says.
func (c *connector) WithChanged(stream string, parent []byte) (write string, known bool) {
	st := c.spec.Stream(stream)
	if st == nil || st.Refresh != collection.Once {
		return "", false
	}
	return c.spec.WithChanged(st, parent)
}

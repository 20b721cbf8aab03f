package declarative

import (
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
		record, err := notation.DecodeJSON(parent.Data)
		if err != nil {
			return "", "", false, drift("a parent is not JSON")
		}
		wanted, err := st.When.Holds(map[string]any{st.Parent: record, "params": c.params})
		if err != nil {
			return "", "", false, drift("`when` cannot be computed for a parent")
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

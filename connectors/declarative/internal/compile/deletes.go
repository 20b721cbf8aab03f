package compile

import (
	"collect/collection"
	"collect/connectors/declarative/internal/language"
	"collect/connectors/declarative/internal/notation"
	"collect/connectors/declarative/internal/paging"
)

// deletedNames are the names that `deleted` may use, with examples of their types.
var deletedNames = map[string]any{"record": map[string]any(nil)}

// deletes compiles how it becomes known that the provider deleted a record: by
// what it sends, or by what a complete walk lacks.
func (c *checker) deletes(spec language.StreamSpec, st *Stream) {
	if spec.Deleted.Set {
		st.Deleted = notation.PredicateOf(&c.Decoder, spec.Deleted, deletedNames)
		if pg, ok := st.Page.(paging.ByContinue); ok && pg.Complete.Set {
			c.Fail(spec.Deleted.At, "the parts of a page that `complete` ends are merged, and none of them says alone that a record was deleted", "")
		}
	}
	// A provider that no longer knows its token has told nothing of what it deleted
	// meanwhile. The walk that then reads everything lacks it.
	st.Sweeps = spec.Deleted.Set && isDelta(st.Page)
	if !spec.Deletes.Set {
		return
	}
	c.OneOf(spec.Deletes, language.Deletes[:]...)
	st.Sweeps = true
	switch {
	case st.Role == collection.Detail:
		c.Fail(spec.Deletes.At, "a detail is one record: `deletes: sweep` belongs to the list that it comes from", "")
	case spec.Since != nil || spec.Windows != nil:
		c.Fail(spec.Deletes.At, "`deletes: sweep` needs walks of the whole list: with `since` or `windows` a walk shows a part of it", "")
	}
}

// IsDeleted reports whether an element of a page says that its record was deleted.
// Where the predicate cannot be computed, it does not hold.
func (st *Stream) IsDeleted(element []byte) bool {
	if element[0] != '{' {
		return false
	}
	record, err := notation.DecodeJSON(element)
	if err != nil {
		return false
	}
	yes, err := st.Deleted.Holds(map[string]any{"record": record})
	return err == nil && yes
}

func isDelta(page paging.Kind) bool {
	switch page.(type) {
	case paging.ByDelta, paging.ByDeltaURL:
		return true
	}
	return false
}

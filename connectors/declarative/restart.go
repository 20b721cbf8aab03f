package declarative

import (
	"strings"

	"collect/collection"
	"collect/connectors/declarative/internal/windows"
)

// Restart returns where a walk begins anew whose cursor lost its meaning, as
// [connectors.Restarter] says. A cursor of an older version has none noted, and
// is taken as it is.
func (c *connector) Restart(at collection.Place, from collection.Cursor) (anew collection.Cursor, lost bool) {
	st := c.spec.Stream(at.Stream)
	if st == nil || from.Meaning == "" {
		return from, false
	}
	selection, paging, _ := strings.Cut(from.Meaning, ".")
	switch {
	case selection != st.Means.Selection:
		return collection.Cursor{}, true
	case paging != st.Means.Paging && !from.Done && st.Windows != nil: // each is a list of its own
		return collection.Cursor{Since: from.Since, High: windows.Again(from.High)}, true
	case paging != st.Means.Paging && !from.Done:
		return collection.Cursor{Since: from.Since}, true
	}
	return from, false
}

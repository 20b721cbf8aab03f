package connect

import (
	"encoding/hex"
	"strings"

	"collect/store/internal/database"
	"collect/store/internal/format"
)

// dialect is what SQLite says in its own words.
//
// In a view, numbers and text come as themselves, true and false as 1 and 0,
// objects and arrays as JSON text. Where a number has more digits than SQLite
// keeps, _data still has them all.
var dialect = database.Dialect{
	RecordSum: format.RecordSum,
	Views: database.Views{
		Taken: `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE)`,
		Made:  `SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?`,
		Field: field,
	},
}

// field returns the expression for a field of r.data. A path in quotes
// finds plain names. SQLite's paths have no reliable way to write quotes,
// backslashes and control characters, and before 3.45 they find no name that a
// record spells with an escape: such names are compared with the keys of the
// record; in hexadecimal they mean nothing to SQL.
//
// One record that SQLite cannot read would fail every query of the view: its
// fields are NULL.
func field(name string, escaped bool) string {
	plain := name != "" && !escaped && !strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == '\ufffd'
	})
	value := `(SELECT value FROM json_each(r.data) WHERE key = CAST(x'` + hex.EncodeToString([]byte(name)) + `' AS TEXT))`
	if plain {
		value = `json_extract(r.data, '$."` + strings.ReplaceAll(name, "'", "''") + `"')`
	}
	return `CASE WHEN json_valid(r.data) THEN ` + value + ` END`
}

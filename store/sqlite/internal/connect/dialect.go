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

// exact returns the expression for the value at a path of r.data. An integer that SQLite has no integer for is text, with
// all its digits: as a number it would be a floating-point one. Two values make an array of the digits, twice; versions
// of SQLite that read these views may be too old for an operator that keeps them.
func exact(path string) string {
	value := `json_extract(r.data, ` + path + `)`
	both := `json_extract(r.data, ` + path + `, ` + path + `)`
	return `CASE WHEN typeof(` + value + `) = 'real' AND json_type(r.data, ` + path + `) = 'integer' THEN substr(` + both + `, 2, (length(` + both + `) - 3) / 2) ELSE ` + value + ` END`
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
		value = exact(`'$."` + strings.ReplaceAll(name, "'", "''") + `"'`)
	}
	return `CASE WHEN json_valid(r.data) THEN ` + value + ` END`
}

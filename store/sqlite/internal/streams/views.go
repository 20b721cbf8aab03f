package streams

import (
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
)

// A view shows the records of a stream with their top-level fields as columns,
// for people and their tools. Numbers and text come as themselves, true and
// false as 1 and 0, objects and arrays as JSON text. Next to them stand
// _key, _partition, _committed_at, _run, _deleted_at, which is NULL for a record
// that is not deleted, and _data, the record as it came:
// where a number has more digits than SQLite keeps, _data still has them all.

// maxColumns bounds the columns of a view. A person reads fewer, and SQLite
// allows 2000.
const maxColumns = 200

// A field is a top-level field of the records of a stream.
type field struct {
	name    string
	escaped bool // some records spell the name with an escape
}

// freeViewName returns the name of the view for a new stream:
// connector_stream, with a number if that is taken.
func freeViewName(t database.Tx, connector, name string) (string, error) {
	base := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, connector+"_"+name)
	if strings.HasPrefix(strings.ToLower(base), "sqlite_") {
		base = "v_" + base // SQLite keeps the prefix for itself
	}
	for view, n := base, 2; ; view, n = fmt.Sprintf("%s_%d", base, n), n+1 {
		var taken bool
		err := t.Row(`SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE)`, view).Scan(&taken)
		if err != nil || !taken {
			return view, err
		}
	}
}

// renewView makes the view of a stream anew if another version made it.
func renewView(t database.Tx, stream int64, view string, fields []field) error {
	var is string
	err := t.Row(`SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?`, view).Scan(&is)
	if err == nil && is == viewSQL(stream, view, fields) {
		return nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return createView(t, stream, view, fields)
}

// createView makes the view of a stream anew with the given fields.
func createView(t database.Tx, stream int64, view string, fields []field) error {
	// Statements for views are used once: they are not kept.
	if err := t.Once(`DROP VIEW IF EXISTS ` + format.Identifier(view)); err != nil {
		return err
	}
	return t.Once(viewSQL(stream, view, fields))
}

// viewSQL returns the statement that makes a view.
func viewSQL(stream int64, view string, fields []field) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE VIEW %s AS SELECT\n    r.key AS _key", format.Identifier(view))
	taken := map[string]bool{"_key": true, "_partition": true, "_committed_at": true, "_run": true, "_deleted_at": true, "_data": true}
	for _, f := range fields[:min(len(fields), maxColumns)] {
		fmt.Fprintf(&b, ",\n    %s AS %s", fieldSQL(f), format.Identifier(freeColumn(f.name, taken)))
	}
	fmt.Fprintf(&b, `,
    p.partition AS _partition,
    s.committed_at AS _committed_at,
    s.run AS _run,
    d.committed_at AS _deleted_at,
    r.data AS _data
FROM records r
JOIN partitions p ON p.id = r.partition_id
JOIN slices s ON s.id = r.slice_id
LEFT JOIN slices d ON d.id = r.deleted
WHERE r.stream_id = %d`, stream)
	return b.String()
}

// freeColumn returns the name of the column for a field, with a number if
// SQLite, which ignores case, would take it for another, and marks it taken.
func freeColumn(field string, taken map[string]bool) string {
	base := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(field, "_"))
	name := base
	for n := 2; name == "" || taken[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	taken[strings.ToLower(name)] = true
	return name
}

// fieldSQL returns the expression for a field of r.data. A path in quotes
// finds plain names. SQLite's paths have no reliable way to write quotes,
// backslashes and control characters, and before 3.45 they find no name that a
// record spells with an escape: such names are compared with the keys of the
// record; in hexadecimal they mean nothing to SQL.
//
// One record that SQLite cannot read would fail every query of the view: its
// fields are NULL.
func fieldSQL(f field) string {
	plain := f.name != "" && !f.escaped && !strings.ContainsFunc(f.name, func(r rune) bool {
		return r < ' ' || r == '"' || r == '\\' || r == 0x7f || r == '\ufffd'
	})
	value := `(SELECT value FROM json_each(r.data) WHERE key = CAST(x'` + hex.EncodeToString([]byte(f.name)) + `' AS TEXT))`
	if plain {
		value = `json_extract(r.data, '$."` + strings.ReplaceAll(f.name, "'", "''") + `"')`
	}
	return `CASE WHEN json_valid(r.data) THEN ` + value + ` END`
}

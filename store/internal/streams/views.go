package streams

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"collect/store/internal/database"
	"collect/store/internal/format"
)

// A view shows the records of a stream with their top-level fields as columns,
// for people and their tools, as the dialect says it. Next to them stand
// _key, _partition, _committed_at, _run, _deleted_at, which is NULL for a record
// that is not deleted, and _data, the record as it came.

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
	views := &t.Dialect().Views
	for view, n := views.Name(base, ""), 2; ; view, n = views.Name(base, fmt.Sprintf("_%d", n)), n+1 {
		var taken bool
		err := t.Row(views.Taken, view).Scan(&taken)
		if err != nil || !taken {
			return view, err
		}
	}
}

// renewView makes the view of a stream anew if another version made it.
func renewView(t database.Tx, stream int64, view string, fields []field) error {
	var is sql.NullString
	views := &t.Dialect().Views
	err := t.Row(views.Made, view).Scan(&is)
	if err == nil && is.String == viewSQL(views, stream, view, fields) {
		return nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	return createView(t, stream, view, fields)
}

// RenewViews makes the views of all streams.
func RenewViews(t database.Tx) error {
	views := map[int64]string{}
	err := t.Each(func(row database.Scanner) error {
		var stream int64
		var view string
		err := row.Scan(&stream, &view)
		views[stream] = view
		return err
	}, `SELECT id, view FROM streams`)
	if err != nil {
		return err
	}
	for stream, view := range views {
		fields, err := fieldsOf(t, stream)
		if err == nil {
			err = renewView(t, stream, view, fields)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// createView makes the view of a stream anew with the given fields.
func createView(t database.Tx, stream int64, view string, fields []field) error {
	// Statements for views are used once: they are not kept.
	views := &t.Dialect().Views
	if !views.Replace {
		if err := t.Once(`DROP VIEW IF EXISTS ` + format.Identifier(view)); err != nil {
			return err
		}
	}
	text := viewSQL(views, stream, view, fields)
	if err := t.Once(text); err != nil || views.Note == nil {
		return err
	}
	return t.Once(views.Note(view, text))
}

// own are the columns of a view beside the fields and _key.
const own = `
    p.partition AS _partition,
    s.committed_at AS _committed_at,
    s.run AS _run,
    d.committed_at AS _deleted_at,
    r.data AS _data`

// viewSQL returns the statement that makes a view. Where views are replaced, new
// fields come last.
func viewSQL(views *database.Views, stream int64, view string, fields []field) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if views.Replace {
		b.WriteString("OR REPLACE ")
	}
	fmt.Fprintf(&b, "VIEW %s AS SELECT\n    r.key AS _key", format.Identifier(view))
	if views.Replace {
		b.WriteString("," + own)
	}
	taken := map[string]bool{"_key": true, "_partition": true, "_committed_at": true, "_run": true, "_deleted_at": true, "_data": true}
	for _, f := range fields[:min(len(fields), maxColumns)] {
		fmt.Fprintf(&b, ",\n    %s AS %s", views.Field(f.name, f.escaped), format.Identifier(freeColumn(views, f.name, taken)))
	}
	if !views.Replace {
		b.WriteString("," + own)
	}
	fmt.Fprintf(&b, `
FROM records r
JOIN partitions p ON p.id = r.partition_id
JOIN slices s ON s.id = r.slice_id
LEFT JOIN slices d ON d.id = r.deleted%s
WHERE r.stream_id = %d`, views.From, stream)
	return b.String()
}

// freeColumn returns the name of the column for a field, with a number if
// SQLite, which ignores case, would take it for another, and marks it taken.
func freeColumn(views *database.Views, field string, taken map[string]bool) string {
	base := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(field, "_"))
	name := views.Name(base, "")
	for n := 2; name == "" || taken[strings.ToLower(name)]; n++ {
		name = views.Name(base, fmt.Sprintf("_%d", n))
	}
	taken[strings.ToLower(name)] = true
	return name
}

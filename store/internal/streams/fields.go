package streams

import (
	"slices"

	"collect/store/internal/database"
)

// fieldsOf returns the fields of a stream in the order first seen.
func fieldsOf(t database.Tx, stream int64) (fields []field, err error) {
	err = t.Each(func(row database.Scanner) error {
		var f field
		err := row.Scan(&f.name, &f.escaped)
		fields = append(fields, f)
		return err
	}, `SELECT name, escaped FROM fields WHERE stream_id = ? ORDER BY position`, stream)
	return fields, err
}

// addFields records fields of a stream and shows them in its view.
func addFields(t database.Tx, stream int64, view string, fresh []field) error {
	known, err := fieldsOf(t, stream)
	if err != nil {
		return err
	}
	shown := known[:min(len(known), maxColumns)]
	changed := len(shown) < maxColumns
	for _, f := range fresh {
		if i := slices.IndexFunc(known, func(k field) bool { return k.name == f.name }); i >= 0 {
			known[i].escaped = known[i].escaped || f.escaped
			changed = changed || i < len(shown)
			err = t.Exec(`UPDATE fields SET escaped = ? WHERE stream_id = ? AND position = ?`, known[i].escaped, stream, i)
		} else {
			err = t.Exec(`INSERT INTO fields (stream_id, position, name, escaped) VALUES (?, ?, ?, ?)`, stream, len(known), f.name, f.escaped)
			known = append(known, f)
		}
		if err != nil {
			return err
		}
	}
	if !changed {
		return nil // the view is full
	}
	return createView(t, stream, view, known)
}

package streams

import (
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
)

func saveSchema(t database.Tx, stream int64, schema collection.Schema) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	return t.Exec(`INSERT INTO schemas (stream_id, schema) VALUES (?1, ?2)
		ON CONFLICT (stream_id) DO UPDATE SET schema = ?2`, stream, string(text))
}

// schemaOf returns the schema of a stream. One that cannot be read is learned
// anew: it only compares what comes with what came.
func schemaOf(t database.Tx, stream int64) (schema collection.Schema, err error) {
	var text string
	err = t.Row(`SELECT schema FROM schemas WHERE stream_id = ?`, stream).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return schema, nil
	}
	if err == nil && json.Unmarshal([]byte(text), &schema) != nil {
		schema = collection.Schema{}
	}
	return schema, err
}

// Accept changes the schema of a stream; see store.Store.
func Accept(t database.Tx, stream int64, fields map[string]collection.JSONKind) error {
	if len(fields) == 0 {
		if err := t.Exec(`UPDATE sweeps SET accepted = 1 WHERE stream_id = ?`, stream); err != nil {
			return err
		}
		return t.Exec(`DELETE FROM schemas WHERE stream_id = ?`, stream)
	}
	schema, err := schemaOf(t, stream)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var known bool
		if schema, known = schema.Accept(name, fields[name]); !known {
			return &store.UnknownFieldError{Field: name, Known: slices.Sorted(maps.Keys(schema.Fields))}
		}
	}
	return saveSchema(t, stream, schema)
}

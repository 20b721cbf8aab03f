package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite/internal/database"
)

// What the records of a stream are like is learned in the transaction that
// stores them, and held against what came before: a slice whose records all
// changed their nature is not stored.

// A learned is what is known of the records of a stream.
type learned struct {
	schema  collection.Schema
	pending *collection.Sample // records of slices that are too small to be news; nil: none
	changed bool               // the schema is not what is stored
}

// learn takes in the fields of the records that a slice changed, which are in
// the sample of its stream. It returns a stop if all of them are of another
// nature than the records before.
//
// Details come one by one: they are held against the schema when there are
// enough of them. Where a slice has records that did not change, its records are
// as they were before.
func (b *batch) learn(s *stream, sl *collection.Slice, changed int) error {
	if changed == 0 {
		return nil
	}
	at, ok := b.learned[s]
	if !ok {
		at = s.learned
	}
	sample := &s.sample
	if at.pending != nil || sample.Few() {
		sample = at.pending.Plus(sample)
	}
	switch whole := changed == len(sl.Records); {
	case whole && sample.Few():
		at.pending = sample
	default:
		if drift := at.schema.Changes(sample); whole && len(drift) > 0 {
			err := &collection.SchemaDriftError{Changes: drift, Of: sample.Records}
			return &collection.Stop{Reason: collection.SchemaDrift, Detail: err.Error(), Err: err}
		}
		next, other := at.schema.With(sample)
		at = learned{schema: next, changed: at.changed || other}
	}
	if b.learned == nil {
		b.learned = map[*stream]learned{}
	}
	b.learned[s] = at
	return nil
}

// saveSchemas stores what was learned.
func (b *batch) saveSchemas() error {
	for s, at := range b.learned {
		if at.changed {
			if err := saveSchema(b.Tx, s.id, at.schema); err != nil {
				return err
			}
		}
	}
	return nil
}

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

// kindOf returns the kind of a JSON value; 0 for null.
func kindOf(value gjson.Result) collection.JSONKind {
	switch value.Type {
	case gjson.String:
		return collection.JSONString
	case gjson.Number:
		return collection.JSONNumber
	case gjson.True, gjson.False:
		return collection.JSONBoolean
	case gjson.JSON:
		if strings.HasPrefix(value.Raw, "[") {
			return collection.JSONArray
		}
		return collection.JSONObject
	}
	return 0
}

// AcceptSchema lets fields of a stream be what they were not before; see
// store.Store.
func (s *Store) AcceptSchema(ctx context.Context, connector, name string, fields map[string]collection.JSONKind, audit store.Audit) (revived []collection.Gap, err error) {
	if s.db.Writer == nil {
		return nil, database.ErrReadOnly
	}
	err = s.operate(ctx, connector, audit, func(l *ledger, t database.Tx) error {
		revived = nil
		var id int64
		err := t.Row(`SELECT id FROM streams WHERE connector = ? AND name = ?`, connector, name).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%s has no stream %q", connector, name)
		}
		if err != nil {
			return err
		}
		l.streams[name] = &stream{id: id}
		if err := accept(t, id, fields); err != nil {
			return err
		}
		err = l.record(t, collection.Event{Kind: collection.SchemaAccepted, Stream: name, Message: audit.Who + ": " + audit.Why})
		if err != nil {
			return err
		}
		gaps, err := gapsWhere(t, `WHERE g.stream_id = ? AND g.reason = ? AND g.state = 'dead'`, id, string(collection.SchemaDrift))
		if err != nil {
			return err
		}
		for _, gap := range gaps {
			if gap, err = l.revive(t, gap.ID, audit); err != nil {
				return err
			}
			revived = append(revived, gap)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("accept the schema of %s: %w", connector, err)
	}
	return revived, nil
}

// accept changes the schema of a stream as [Store.AcceptSchema] says.
func accept(t database.Tx, stream int64, fields map[string]collection.JSONKind) error {
	if len(fields) == 0 {
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

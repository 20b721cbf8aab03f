package sqlite

import (
	"database/sql"
	"errors"
	"fmt"

	"collect/collection"
	"collect/store/sqlite/internal/database"
)

// declare records the streams of the run, with an empty view for each new one,
// and reads what is known of all the connector has.
func (l *ledger) declare(t database.Tx, declared []collection.Stream) error {
	l.streams = map[string]*stream{}
	for position, s := range declared {
		known, err := l.declareOne(t, position, s)
		if err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
		l.streams[s.Name] = known
	}
	return nil
}

func (l *ledger) declareOne(t database.Tx, position int, s collection.Stream) (*stream, error) {
	known := &stream{Stream: s, fields: map[string]bool{}}
	err := t.Row(`SELECT id, view FROM streams WHERE connector = ? AND name = ?`, l.connector, s.Name).
		Scan(&known.id, &known.view)
	if errors.Is(err, sql.ErrNoRows) {
		if known.view, err = freeViewName(t, l.connector, s.Name); err != nil {
			return nil, err
		}
		known.id, err = t.Insert(`INSERT INTO streams (connector, name, role, parent, refresh, ordered, position, view, records)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`, l.connector, s.Name, s.Role, s.Parent, s.Refresh, s.Ordered, position, known.view)
		if err != nil {
			return nil, err
		}
		return known, createView(t, known, nil)
	}
	if err != nil {
		return nil, err
	}
	err = t.Exec(`UPDATE streams SET role = ?, parent = ?, refresh = ?, ordered = ?, position = ? WHERE id = ?`,
		s.Role, s.Parent, s.Refresh, s.Ordered, position, known.id)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(t, known.id)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		known.fields[f.name] = f.escaped
	}
	if known.learned.schema, err = schemaOf(t, known.id); err != nil {
		return nil, err
	}
	return known, renewView(t, known, fields)
}

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

// Package streams describes the streams of a connector: their fields, the schema
// that their records follow, and the views that show those.
package streams

import (
	"database/sql"
	"errors"
	"fmt"

	"collect/collection"
	"collect/store/internal/database"
)

// A Stream is what a run knows of a stream.
type Stream struct {
	collection.Stream
	ID int64

	Claims  bool // it has records that several partitions brought
	Rejects bool // it has records in quarantine

	view    string
	fields  map[string]bool // the top-level fields that are recorded; true: some records spell the name with an escape
	learned collection.Learned
	sample  collection.Sample // of the slice that is being stored
}

// Declare records the streams of a run, with an empty view for each new one, and
// returns them by name.
func Declare(t database.Tx, connector string, declared []collection.Stream) (map[string]*Stream, error) {
	all := map[string]*Stream{}
	for position, s := range declared {
		known, err := declareOne(t, connector, position, s)
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", s.Name, err)
		}
		all[s.Name] = known
	}
	return all, nil
}

func declareOne(t database.Tx, connector string, position int, s collection.Stream) (*Stream, error) {
	known := &Stream{Stream: s, fields: map[string]bool{}}
	err := t.Row(`SELECT id, view FROM streams WHERE connector = ? AND name = ?`, connector, s.Name).
		Scan(&known.ID, &known.view)
	if errors.Is(err, sql.ErrNoRows) {
		if choice := t.Dialect().Views.Choice; choice != "" {
			if err := t.Row(choice).Scan(new(any)); err != nil {
				return nil, err
			}
		}
		if known.view, err = freeViewName(t, connector, s.Name); err != nil {
			return nil, err
		}
		known.ID, err = t.Insert(`INSERT INTO streams (connector, name, role, parent, refresh, ordered, position, view, records)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`, connector, s.Name, s.Role, s.Parent, s.Refresh, s.Ordered, position, known.view)
		if err != nil {
			return nil, err
		}
		if err := sweeps(t, known.ID, s.Sweeps); err != nil {
			return nil, err
		}
		return known, createView(t, known.ID, known.view, nil)
	}
	if err != nil {
		return nil, err
	}
	err = t.Exec(`UPDATE streams SET role = ?, parent = ?, refresh = ?, ordered = ?, position = ? WHERE id = ?`,
		s.Role, s.Parent, s.Refresh, s.Ordered, position, known.ID)
	if err != nil {
		return nil, err
	}
	if err := sweeps(t, known.ID, s.Sweeps); err != nil {
		return nil, err
	}
	err = t.Row(`SELECT EXISTS (SELECT 1 FROM claims c CROSS JOIN records r ON r.id = c.record_id WHERE r.stream_id = ?1),
		EXISTS (SELECT 1 FROM quarantine WHERE stream_id = ?1)`, known.ID).Scan(&known.Claims, &known.Rejects)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(t, known.ID)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		known.fields[f.name] = f.escaped
	}
	if known.learned.Schema, err = schemaOf(t, known.ID); err != nil {
		return nil, err
	}
	return known, renewView(t, known.ID, known.view, fields)
}

// sweeps notes whether a complete walk of a stream marks what it did not show. Where
// that is new, each of its records counts as shown just now: a walk that is under way
// may have shown it before, and the next one will tell.
func sweeps(t database.Tx, stream int64, on bool) error {
	if !on {
		n, err := t.Change(`DELETE FROM sweeps WHERE stream_id = ?`, stream)
		if err != nil || n == 0 {
			return err
		}
		return t.Exec(`DELETE FROM sightings WHERE record_id IN (SELECT id FROM records WHERE stream_id = ?)`, stream)
	}
	n, err := t.Change(`INSERT INTO sweeps (stream_id, accepted) VALUES (?, 0) ON CONFLICT DO NOTHING`, stream)
	if err != nil || n == 0 {
		return err
	}
	return t.Exec(`INSERT INTO sightings (record_id, partition_id, seen)
		SELECT id, partition_id, (SELECT coalesce(max(id), 0) FROM slices) FROM records WHERE stream_id = ? AND deleted = 0`, stream)
}

// Find returns the number of a stream.
func Find(t database.Tx, connector, name string) (id int64, err error) {
	err = t.Row(`SELECT id FROM streams WHERE connector = ? AND name = ?`, connector, name).Scan(&id)
	return id, err
}

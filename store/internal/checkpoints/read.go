package checkpoints

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// PlaceQuery finds the checkpoint of a place and the reason of the gap that is
// owed there, if there is one. ?4 is the digest of the zero cursor, where a
// place stands that was never committed.
const PlaceQuery = `
	SELECT ` + placeColumns + `
	FROM partitions p ` + placeTables + `
	WHERE p.stream_id = ?1 AND p.partition = ?2`

// PlacesQuery does so for the partitions in a JSON array.
const PlacesQuery = `
	SELECT json_each.key, ` + placeColumns + `
	FROM json_each(?2) AS json_each CROSS JOIN partitions p ON p.stream_id = ?1 AND p.partition = json_each.value ` + placeTables

const (
	placeColumns = `c.token, c.since, c.high, c.version, coalesce(c.done, 0), c.meaning,
		coalesce(c.digest, ?4), coalesce(c.slice_id, 0), coalesce(c.epoch, 0), c.saved_at,
		coalesce(c.evidence, ''), coalesce(g.reason, ''), coalesce(g.covers, ''), g.opened_at, g.tried_at, g.waived_at IS NOT NULL`

	placeTables = `
	LEFT JOIN checkpoints c ON c.partition_id = p.id AND c.lane = ?3
	LEFT JOIN gaps g ON g.partition_id = p.id AND g.lane = ?3 AND g.digest = coalesce(c.digest, ?4)
		AND g.state IN ('open', 'leased', 'dead')`
)

// Read returns the state of the given places, in their order, in one read: the
// checkpoint and whether something is owed there. number returns the number of a
// stream.
func Read(ctx context.Context, r *database.Readers, number func(stream string) (int64, error), at []collection.Place) ([]collection.PlaceState, error) {
	// The driver starts a goroutine per query for a context that can end.
	whole := context.WithoutCancel(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(at) > 1 && alike(at) {
		return partitions(whole, r, number, at)
	}
	query, err := r.Prepared(whole, PlaceQuery)
	if err != nil {
		return nil, r.Classify(err)
	}
	if len(at) > 1 {
		read, err := r.DB.BeginTx(ctx, nil) // one state of the database for all
		if err != nil {
			return nil, r.Classify(err)
		}
		defer read.Rollback()                  // nothing was written
		query = read.StmtContext(whole, query) // ends with the transaction
	}

	start := collection.Cursor{}.Digest()
	states := make([]collection.PlaceState, len(at))
	for i, place := range at {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		stream, err := number(place.Stream)
		if err != nil {
			return nil, err
		}
		states[i].Checkpoint.Place = place
		err = scanPlace(query.QueryRowContext(whole, stream, string(place.Partition), string(place.Lane), start), &states[i])
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, r.Unreadable(err)
		}
	}
	return states, nil
}

// scanPlace scans placeColumns, after the columns that are scanned to before.
func scanPlace(row database.Scanner, state *collection.PlaceState, before ...any) error {
	cp, reason, waived, absent := &state.Checkpoint, collection.Reason(""), false, collection.Absence{}
	var sum []byte
	dest := append(before, format.CursorColumns(&cp.Cursor)...)
	dest = append(dest, &sum, &cp.Commit, &cp.Epoch, format.TimeTo(&cp.SavedAt), format.EvidenceTo(&cp.Evidence), &reason, format.TextTo(&absent.Covers), format.TimeTo(&absent.Since), format.TimeTo(&absent.Tried), &waived)
	if err := row.Scan(dest...); err != nil {
		return err
	}
	if state.Owed = reason != "" && !reason.EndsRun(); !state.Owed {
		state.Left = reason
	}
	if reason.Settled() && !waived {
		state.Absent = absent
	}
	return format.CheckCursor(cp.Cursor, sum)
}

// alike reports whether places are partitions of one stream in one lane, as a
// pass asks for them.
func alike(at []collection.Place) bool {
	return !slices.ContainsFunc(at, func(p collection.Place) bool { return p.Stream != at[0].Stream || p.Lane != at[0].Lane })
}

// partitions returns the state of partitions of one stream. One query for all
// of them costs a third of one for each, which a pass notices that goes on
// behind a hundred thousand.
func partitions(ctx context.Context, r *database.Readers, number func(string) (int64, error), at []collection.Place) ([]collection.PlaceState, error) {
	stream, err := number(at[0].Stream)
	if err != nil {
		return nil, err
	}
	states := make([]collection.PlaceState, len(at))
	names := make([]collection.Partition, len(at))
	for i, place := range at {
		states[i].Checkpoint.Place, names[i] = place, place.Partition
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	scanned := collection.PlaceState{}
	err = r.Query(ctx, func(row database.Scanner) error {
		var i int
		scanned = collection.PlaceState{}
		if err := scanPlace(row, &scanned, &i); err != nil {
			return err
		}
		scanned.Checkpoint.Place = at[i]
		states[i] = scanned
		return nil
	}, PlacesQuery, stream, string(list), string(at[0].Lane), collection.Cursor{}.Digest())
	return states, err
}

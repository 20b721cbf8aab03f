package gaps

import (
	"context"
	"encoding/json"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// gapColumns and gapTables select what scanGap scans.
const (
	gapColumns = `g.id, s.name, p.partition, g.lane, g.token, g.since, g.high, g.version, g.done, g.meaning, g.digest, g.covers, g.shape,
		g.reason, g.detail, g.state, g.attempts, g.not_before, g.opened_at, g.tried_at, g.run,
		g.behind, g.waived_at, g.waived_by, g.waived_why`
	gapTables = `
	FROM gaps g CROSS JOIN partitions p ON p.id = g.partition_id CROSS JOIN streams s ON s.id = g.stream_id `
	Query = `SELECT ` + gapColumns + gapTables
)

// What follows Query. A test holds that none of them scans a table. The sets of states are written as the partial indexes
// have them, by which SQLite knows that it may use those.
const (
	OwedHere = `WHERE g.partition_id = ? AND g.lane = ? AND g.digest = ? AND g.state IN ('open', 'leased', 'dead')`

	PlannedHere = `WHERE g.partition_id = ? AND g.lane = ? AND g.state IN ('open', 'leased', 'dead')
		AND g.kind = 'planned' AND g.behind = 0 AND g.digest <> ? AND g.id <> ?`

	LeasedHere = `WHERE g.state IN ('open', 'leased') AND g.state = 'leased'
		AND g.stream_id IN (SELECT id FROM streams WHERE connector = ?)`

	waitingHere = `WHERE g.state IN ('open', 'leased') AND g.not_before IS NOT NULL
		AND g.stream_id IN (SELECT id FROM streams WHERE connector = ?)`

	Eligible = `WHERE g.state IN ('open', 'leased') AND g.state = 'open'
			AND g.stream_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1)) AND g.lane = ?2 AND g.leased_epoch <> ?3
			AND (g.kind = 'planned' OR g.not_before IS NULL OR g.not_before <= ?4)
			AND (g.kind <> 'stuck' AND g.reason <> 'list_changed' OR g.deferred_epoch <> ?3)
		ORDER BY min(g.attempts, 8) - (CASE WHEN g.opened_at <= ?6 THEN 1 ELSE 0 END + CASE WHEN g.opened_at <= ?7 THEN 1 ELSE 0 END
			+ CASE WHEN g.opened_at <= ?8 THEN 1 ELSE 0 END + CASE WHEN g.opened_at <= ?9 THEN 1 ELSE 0 END
			+ CASE WHEN g.opened_at <= ?10 THEN 1 ELSE 0 END + CASE WHEN g.opened_at <= ?11 THEN 1 ELSE 0 END
			+ CASE WHEN g.opened_at <= ?12 THEN 1 ELSE 0 END + CASE WHEN g.opened_at <= ?13 THEN 1 ELSE 0 END),
			g.tried_at NULLS FIRST, g.id
		LIMIT ?5 + 0` // a bare ?5 is looked at when it is bound, and the statement prepared anew each time
)

// scanGap scans gapColumns, after the columns that are scanned to before.
func scanGap(row database.Scanner, before ...any) (g collection.Gap, err error) {
	dest := append(before, &g.ID, &g.Stream, format.TextTo((*string)(&g.Partition)), &g.Lane)
	dest = append(dest, format.CursorColumns(&g.Cursor)...)
	var sum []byte
	dest = append(dest, &sum, format.TextTo(&g.Version), &g.Shape, &g.Reason, &g.Detail, &g.State, &g.Attempts,
		format.TimeTo(&g.NotBefore), format.TimeTo(&g.OpenedAt), format.TimeTo(&g.TriedAt), &g.Run,
		&g.Behind, format.TimeTo(&g.Waiver.At), &g.Waiver.Who, &g.Waiver.Why)
	if err := row.Scan(dest...); err != nil {
		return g, err
	}
	return g, format.CheckCursor(g.Cursor, sum)
}

// gapsWhere returns the gaps that follow from what stands behind Query.
func gapsWhere(t database.Tx, where string, args ...any) (gaps []collection.Gap, err error) {
	err = t.Each(func(row database.Scanner) error {
		gap, err := scanGap(row)
		gaps = append(gaps, gap)
		return err
	}, Query+where, args...)
	return gaps, err
}

// owedAt returns the gap that is owed at a cursor of a place, or
// sql.ErrNoRows.
func owedAt(t database.Tx, p Place, c collection.Cursor) (collection.Gap, error) {
	return scanGap(t.Row(Query+OwedHere, p.PartitionID, string(p.Lane), c.Digest()))
}

// OpenQuery is the query whether a lease is held, and whether streams have gaps in a lane that may be
// tried, now or later.
const OpenQuery = `SELECT EXISTS (SELECT 1 FROM leases WHERE connector = ?3 AND epoch = ?4 AND run = ?5 AND writes >= ?6),
	EXISTS (SELECT 1 FROM gaps g WHERE g.state IN ('open', 'leased')
		AND g.stream_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?1)) AND g.lane = ?2)`

// Open reports whether any gap of the streams with the given numbers may be tried, now or later, by the run
// that has the lease since its write of the given number; collection.ErrFenced says that it has not.
func (b Book) Open(ctx context.Context, r *database.Readers, kept int64, lane collection.Lane, streams []int64) (open bool, err error) {
	list, err := json.Marshal(streams)
	if err != nil {
		return false, err
	}
	held := false
	_, err = r.One(ctx, []any{&held, &open}, OpenQuery, string(list), string(lane), b.Connector, b.Epoch, b.Run, kept)
	if err == nil && !held {
		err = collection.ErrFenced
	}
	return open, err
}

// Owed returns the gaps of a connector, of all if it is "", that are owed.
func Owed(ctx context.Context, r *database.Readers, connector string) (gaps []store.OwnedGap, err error) {
	of, args := "", []any(nil)
	if connector != "" {
		of, args = "AND g.stream_id IN (SELECT id FROM streams WHERE connector = ?) ", []any{connector}
	}
	err = r.Query(ctx, func(row database.Scanner) (err error) {
		var g store.OwnedGap
		g.Gap, err = scanGap(row, &g.Connector)
		gaps = append(gaps, g)
		return err
	}, `SELECT s.connector, `+gapColumns+gapTables+`WHERE g.state IN ('open', 'leased', 'dead')
		`+of+`ORDER BY g.opened_at, g.id`, args...)
	return gaps, err
}

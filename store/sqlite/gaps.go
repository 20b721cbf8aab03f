package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"collect/collection"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
)

// A place is a collection.Place with the rows it is stored under.
type place struct {
	collection.Place
	stream    *stream
	partition int64
}

// place finds the rows of a place, making them if need be.
func (l *ledger) place(t database.Tx, at collection.Place) (place, error) {
	s, err := l.stream(at.Stream)
	if err != nil {
		return place{}, err
	}
	partition, err := l.partition(t, s, at.Partition)
	return place{at, s, partition}, err
}

// Defer opens gaps, or renews those that are open; see store.Ledger.
func (l *ledger) Defer(ctx context.Context, worked bool, gaps ...collection.Gap) ([]collection.Gap, error) {
	if len(gaps) == 0 {
		return nil, nil
	}
	deferred := make([]collection.Gap, len(gaps))
	err := l.update(ctx, func(t database.Tx) error {
		for i, gap := range gaps {
			p, err := l.place(t, gap.Place)
			if err != nil {
				return err
			}
			if deferred[i], err = l.deferGap(t, p, gap, worked, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return deferred, nil
}

// deferGap opens a gap or renews the one that is owed at its cursor. A gap
// that the walk went on behind stays one.
func (l *ledger) deferGap(t database.Tx, p place, gap collection.Gap, worked, behind bool) (collection.Gap, error) {
	if err := l.moveBackIfAhead(t, t.Now); err != nil {
		return gap, err
	}
	was, err := owedAt(t, p, gap.Cursor)
	switch {
	case err == nil:
		gap = gap.Owed(&was, worked, t.Now)
	case errors.Is(err, sql.ErrNoRows):
		gap = gap.Owed(nil, worked, t.Now)
		gap.Run = l.run
	default:
		return gap, err
	}
	gap.NotBefore = format.NotBefore(gap.NotBefore)

	if gap.ID != 0 {
		err = t.Exec(`UPDATE gaps SET covers = ?, shape = ?, reason = ?, kind = ?, detail = ?, state = ?, behind = max(behind, ?),
				attempts = ?, not_before = ?, tried_at = ?, deferred_epoch = ? WHERE id = ?`,
			[]byte(gap.Version), string(gap.Shape), string(gap.Reason), string(gap.Reason.Kind()), gap.Detail, string(gap.State), behind,
			gap.Attempts, format.NullTime(gap.NotBefore), format.NullTime(gap.TriedAt), l.epoch, gap.ID)
	} else {
		args := append([]any{p.stream.id, p.partition, string(p.Lane)}, format.CursorArgs(gap.Cursor)...)
		args = append(args, gap.Cursor.Digest(), []byte(gap.Version), string(gap.Shape), string(gap.Reason), string(gap.Reason.Kind()),
			gap.Detail, string(gap.State), behind, gap.Attempts, format.NullTime(gap.NotBefore), format.Time(gap.OpenedAt),
			format.NullTime(gap.TriedAt), gap.Run, l.epoch)
		gap.ID, err = t.Insert(`INSERT INTO gaps (stream_id, partition_id, lane, token, since, high, version, done, meaning,
				digest, covers, shape, reason, kind, detail, state, behind, attempts, not_before, opened_at,
				tried_at, run, deferred_epoch, leased_epoch)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`, args...)
	}
	if err != nil {
		return gap, err
	}
	return gap, l.recordGap(t, collection.GapOpened, gap)
}

// Lease returns gaps that may be tried; see store.Ledger. Which those are is
// what collection.Gap.Due says, and the rank is that of collection.Gap.Rank: each
// of the eight comparisons with a time counts 15 minutes of age.
func (l *ledger) Lease(ctx context.Context, lane collection.Lane, streams []string, now time.Time, n int) ([]collection.Gap, error) {
	ids := make([]int64, 0, len(streams))
	for _, name := range streams {
		s, err := l.stream(name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.id)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	args := []any{string(list), string(lane), l.epoch, format.Time(now), n}
	for quarter := 1; quarter <= 8; quarter++ {
		args = append(args, format.Time(now.Add(-time.Duration(quarter)*15*time.Minute)))
	}
	var gaps []collection.Gap
	err = l.update(ctx, func(t database.Tx) error {
		gaps, err = gapsWhere(t, eligible, args...)
		if err != nil {
			return err
		}
		for i := range gaps {
			gaps[i].State = collection.GapLeased
			if err := t.Exec(`UPDATE gaps SET state = 'leased', leased_epoch = ? WHERE id = ?`, l.epoch, gaps[i].ID); err != nil {
				return err
			}
			if err := l.recordGap(t, collection.LeaseTaken, gaps[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gaps, nil
}

// freeGaps opens the gaps of the connector that are leased: by a run that
// ends, or by one that died.
func (l *ledger) freeGaps(t database.Tx) error {
	leased, err := gapsWhere(t, leasedHere, l.connector)
	if err != nil {
		return err
	}
	for _, gap := range leased {
		if err := t.Exec(`UPDATE gaps SET state = 'open' WHERE id = ?`, gap.ID); err != nil {
			return err
		}
		if err := l.recordGap(t, collection.GapOpened, gap); err != nil {
			return err
		}
	}
	return nil
}

// passGaps closes the gaps that a slice passes, and returns them. A slice that
// leaves a gap at its start renews the one that is there instead. The end of a
// walk closes what planned stops left on its way; a gap that the walk went on
// behind is not on its way, whatever its reason has become.
func (l *ledger) passGaps(t database.Tx, p place, sl *collection.Slice, moves bool) ([]collection.Gap, error) {
	var passed []collection.Gap
	add := func(gap collection.Gap, err error) error {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		passed = append(passed, gap)
		return err
	}
	if err := add(owedAt(t, p, sl.From)); err != nil {
		return nil, err
	}
	if sl.Fills != 0 && (len(passed) == 0 || passed[0].ID != sl.Fills) {
		err := add(scanGap(t.Row(gapQuery+`WHERE g.id = ? AND g.partition_id = ? AND g.lane = ?
			AND g.state IN ('open', 'leased', 'dead')`, sl.Fills, p.partition, string(p.Lane))))
		if err != nil {
			return nil, err
		}
	}
	if sl.Leaves != nil && len(passed) > 0 && passed[0].Cursor == sl.From {
		passed = passed[1:]
	}
	if sl.Next.Done && moves {
		planned, err := gapsWhere(t, plannedHere, p.partition, string(p.Lane), sl.From.Digest(), sl.Fills)
		if err != nil {
			return nil, err
		}
		passed = append(passed, planned...)
	}
	return passed, l.closeGaps(t, collection.GapRecovered, passed)
}

// closeGaps ends the life of gaps.
func (l *ledger) closeGaps(t database.Tx, end collection.GapState, gaps []collection.Gap) error {
	for i := range gaps {
		gaps[i].State = end
		err := t.Exec(`UPDATE gaps SET state = ?, closed_at = ? WHERE id = ?`, string(end), format.Time(t.Now), gaps[i].ID)
		if err != nil {
			return err
		}
		if err := l.recordGap(t, collection.GapClosed, gaps[i]); err != nil {
			return err
		}
	}
	return nil
}

// recordGap records an event of a gap.
func (l *ledger) recordGap(t database.Tx, kind collection.EventKind, gap collection.Gap) error {
	return l.record(t, gapEvent(kind, gap))
}

func gapEvent(kind collection.EventKind, gap collection.Gap) collection.Event {
	return collection.Event{
		Kind: kind, Stream: gap.Stream, Partition: gap.Partition, Lane: gap.Lane,
		Gap: &collection.GapInfo{
			ID: gap.ID, Shape: gap.Shape, Reason: gap.Reason, Kind: gap.Reason.Kind(), Attempts: gap.Attempts,
		},
	}
}

// gapColumns and gapTables select what scanGap scans.
const (
	gapColumns = `g.id, s.name, p.partition, g.lane, g.token, g.since, g.high, g.version, g.done, g.meaning, g.digest, g.covers, g.shape,
		g.reason, g.detail, g.state, g.attempts, g.not_before, g.opened_at, g.tried_at, g.run`
	gapTables = `
	FROM gaps g CROSS JOIN partitions p ON p.id = g.partition_id CROSS JOIN streams s ON s.id = g.stream_id `
	gapQuery = `SELECT ` + gapColumns + gapTables
)

// What follows gapQuery. The sets of states are written as the partial indexes
// have them, by which SQLite knows that it may use those.
const (
	owedHere = `WHERE g.partition_id = ? AND g.lane = ? AND g.digest = ? AND g.state IN ('open', 'leased', 'dead')`

	plannedHere = `WHERE g.partition_id = ? AND g.lane = ? AND g.state IN ('open', 'leased', 'dead')
		AND g.kind = 'planned' AND g.behind = 0 AND g.digest <> ? AND g.id <> ?`

	leasedHere = `WHERE g.state IN ('open', 'leased') AND g.state = 'leased'
		AND g.stream_id IN (SELECT id FROM streams WHERE connector = ?)`

	waitingHere = `WHERE g.state IN ('open', 'leased') AND g.not_before IS NOT NULL
		AND g.stream_id IN (SELECT id FROM streams WHERE connector = ?)`

	eligible = `WHERE g.state IN ('open', 'leased') AND g.state = 'open'
			AND g.stream_id IN (SELECT value FROM json_each(?1)) AND g.lane = ?2 AND g.leased_epoch <> ?3
			AND (g.kind = 'planned' OR (g.not_before IS NULL OR g.not_before <= ?4)
				AND (g.kind <> 'stuck' OR g.deferred_epoch <> ?3))
		ORDER BY min(g.attempts, 8) - ((g.opened_at <= ?6) + (g.opened_at <= ?7) + (g.opened_at <= ?8) + (g.opened_at <= ?9)
			+ (g.opened_at <= ?10) + (g.opened_at <= ?11) + (g.opened_at <= ?12) + (g.opened_at <= ?13)),
			g.tried_at, g.id
		LIMIT ?5 + 0` // a bare ?5 is looked at when it is bound, and the statement prepared anew each time
)

// scanGap scans gapColumns, after the columns that are scanned to before.
func scanGap(row database.Scanner, before ...any) (g collection.Gap, err error) {
	dest := append(before, &g.ID, &g.Stream, format.TextTo((*string)(&g.Partition)), &g.Lane)
	dest = append(dest, format.CursorColumns(&g.Cursor)...)
	var sum []byte
	dest = append(dest, &sum, format.TextTo(&g.Version), &g.Shape, &g.Reason, &g.Detail, &g.State, &g.Attempts,
		format.TimeTo(&g.NotBefore), format.TimeTo(&g.OpenedAt), format.TimeTo(&g.TriedAt), &g.Run)
	if err := row.Scan(dest...); err != nil {
		return g, err
	}
	return g, format.CheckCursor(g.Cursor, sum)
}

// gapsWhere returns the gaps that follow from what stands behind gapQuery.
func gapsWhere(t database.Tx, where string, args ...any) (gaps []collection.Gap, err error) {
	err = t.Each(func(row database.Scanner) error {
		gap, err := scanGap(row)
		gaps = append(gaps, gap)
		return err
	}, gapQuery+where, args...)
	return gaps, err
}

// owedAt returns the gap that is owed at a cursor of a place, or
// sql.ErrNoRows.
func owedAt(t database.Tx, p place, c collection.Cursor) (collection.Gap, error) {
	return scanGap(t.Row(gapQuery+owedHere, p.partition, string(p.Lane), c.Digest()))
}

package gaps

import (
	"database/sql"
	"errors"
	"time"

	"collect/store/internal/database"
	"collect/store/internal/format"
)

// MoveBack moves what the gaps of the connector wait for, if the clock was set
// back since its last run: their times were read from the clock as it was, and
// would come as much too late, by years if that clock was years ahead. The
// newest time that the last run left, or a gap, tells by how much at least, so
// that no wait gets shorter than it was when that run was last heard of. Gaps
// tell it once: each of their times that is later than now becomes now.
func (b Book) MoveBack(t database.Tx) error {
	var last time.Time
	err := t.Row(`SELECT max(max(beat_at, coalesce(ended_at, '')),
			coalesce((SELECT max(max(g.opened_at, coalesce(g.tried_at, ''))) FROM gaps g `+waitingHere+`), ''))
		FROM runs WHERE connector = ? ORDER BY number DESC LIMIT 1`,
		b.Connector, b.Connector).Scan(format.TimeTo(&last))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	back := last.Sub(t.Now)
	if err != nil || back <= 0 {
		return err
	}
	gaps, err := gapsWhere(t, waitingHere, b.Connector)
	if err != nil {
		return err
	}
	for _, gap := range gaps {
		err := t.Exec(`UPDATE gaps SET not_before = ? WHERE id = ?`, format.Time(format.NotBefore(gap.NotBefore.Add(-back))), gap.ID)
		if err != nil {
			return err
		}
	}
	now := format.Time(t.Now)
	return t.Exec(`UPDATE gaps SET opened_at = min(opened_at, ?), tried_at = min(tried_at, ?)
		WHERE state IN ('open', 'leased', 'dead') AND stream_id IN (SELECT id FROM streams WHERE connector = ?)`, now, now, b.Connector)
}

// MoveBackIfAhead does the same when the run was heard of later than now: the
// clock was set back under it. It comes before anything that is written by the
// new clock: a beat takes the place of what tells by how much, and a gap that
// waits by the new clock must not be moved with those that wait by the old one.
func (b Book) MoveBackIfAhead(t database.Tx, now time.Time) error {
	if b.Run == "" {
		return nil // an operator has no run that heard of a time
	}
	var heard time.Time
	err := t.Row(`SELECT beat_at FROM runs WHERE id = ?`, b.Run).Scan(format.TimeTo(&heard))
	if err != nil || !heard.After(now) {
		return err
	}
	if err := b.MoveBack(t); err != nil {
		return err
	}
	return t.Exec(`UPDATE runs SET beat_at = ? WHERE id = ?`, format.Time(now), b.Run)
}

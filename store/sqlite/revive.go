package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
)

// Revive opens gaps that are dead, by hand; see store.Store. When each was
// tried last stays known, by which one that was revived is told from one that
// was never tried.
func (s *Store) Revive(ctx context.Context, connector string, gaps []int64, audit store.Audit) (revived []collection.Gap, err error) {
	if s.db.Writer == nil {
		return nil, database.ErrReadOnly
	}
	err = s.operate(ctx, connector, audit, func(l *ledger, t database.Tx) error {
		for _, id := range gaps {
			gap, err := l.revive(t, id, audit)
			if errors.Is(err, sql.ErrNoRows) {
				continue // it has ended, or lives
			}
			if err != nil {
				return err
			}
			revived = append(revived, gap)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("revive gaps of %s: %w", connector, err)
	}
	return revived, nil
}

// revive opens one gap. It returns sql.ErrNoRows if no such gap of the
// connector is dead.
func (l *ledger) revive(t database.Tx, id int64, audit store.Audit) (collection.Gap, error) {
	gap, err := scanGap(t.Row(gapQuery+`WHERE g.id = ? AND s.connector = ? AND g.state = 'dead'`, id, l.connector))
	if err != nil {
		return gap, err
	}
	gap = gap.Reopened()
	err = t.Exec(`UPDATE gaps SET state = ?, attempts = ?, not_before = ? WHERE id = ?`,
		string(gap.State), gap.Attempts, format.NullTime(gap.NotBefore), gap.ID)
	if err != nil {
		return gap, err
	}
	told := gapEvent(collection.GapRevived, gap)
	told.Message = audit.Who + ": " + audit.Why
	return gap, l.record(t, told)
}

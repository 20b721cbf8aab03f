package backup

import (
	"context"
	"time"

	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// The names in the table meta of when a store was copied, and a copy was tried. The
// values are times as text.
const (
	backedUp = "backed_up"
	drilled  = "drilled"
)

// keepNewest keeps a time under a name, unless a later one is kept. The second parameter
// and the third are the same, as [restoring.carry] has three.
const keepNewest = `INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?3 WHERE value < ?3`

// Note keeps when a store was copied; see [sqlite.Store.Note].
func Note(ctx context.Context, w *database.Writer, c store.Copies) error {
	note := func(t database.Tx) error {
		for name, at := range map[string]time.Time{backedUp: c.BackedUp, drilled: c.Drilled} {
			if at.IsZero() {
				continue
			}
			value := []byte(format.Time(at))
			if err := t.Exec(keepNewest, name, value, value); err != nil {
				return err
			}
		}
		return nil
	}
	return w.Update(ctx, note, func(database.Tx) (bool, error) { return false, nil })
}

// Copies returns what was noted; see [sqlite.Store.Copies].
func Copies(ctx context.Context, r *database.Readers) (c store.Copies, err error) {
	for name, at := range map[string]*time.Time{backedUp: &c.BackedUp, drilled: &c.Drilled} {
		if _, err := r.One(ctx, []any{format.TimeTo(at)}, `SELECT CAST(value AS TEXT) FROM meta WHERE name = ?`, name); err != nil {
			return c, err
		}
	}
	return c, nil
}

package ledger

import (
	"context"
	"fmt"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
)

// Pause keeps the runs of a connector from beginning, or lets them begin again; see
// store.Store.
func (s *Store) Pause(ctx context.Context, connector string, on bool, audit store.Audit) (changed bool, err error) {
	err = s.writer.Update(ctx, func(t database.Tx) error {
		changed = false
		e := collection.Event{Kind: collection.ConnectorUnpaused, Message: audit.String()}
		change, values := `DELETE FROM pauses WHERE connector = ?`, []any{connector}
		if on {
			e.Kind = collection.ConnectorPaused
			change = `INSERT INTO pauses (connector, at, who, why) VALUES (?, ?, ?, ?) ON CONFLICT (connector) DO NOTHING`
			values = append(values, format.Time(t.Now), audit.Who, audit.Why)
		}
		rows, err := t.Change(change, values...)
		if err != nil || rows == 0 {
			return err
		}
		changed = true
		_, err = events.Author{Connector: connector}.Record(t, e)
		return err
	}, func(database.Tx) (bool, error) { return false, nil })
	if err != nil {
		return false, fmt.Errorf("pause %s: %w", connector, err)
	}
	return changed, nil
}

// Paused returns who paused a connector; see store.Reader.
func (r reader) Paused(ctx context.Context, connector string) (p store.Pause, err error) {
	_, err = r.readers.One(ctx, []any{format.TimeTo(&p.At), &p.Who, &p.Why}, `SELECT at, who, why FROM pauses WHERE connector = ?`, connector)
	return p, err
}

// Orders returns the newest events of what people ordered; see store.Reader.
func (r reader) Orders(ctx context.Context, connector string, n int) ([]collection.Event, error) {
	return events.Orders(ctx, r.readers, connector, n)
}

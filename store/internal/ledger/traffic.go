package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
)

// Traffic returns what became of all that a connector asked for; see store.Reader.
func (r reader) Traffic(ctx context.Context, connector string) (t collection.Traffic, err error) {
	var counts []byte
	found, err := r.readers.One(ctx, []any{&counts}, trafficQuery, connector)
	if err != nil || !found {
		return t, err
	}
	return t, readTraffic(counts, &t)
}

const trafficQuery = `SELECT counts FROM traffic WHERE connector = ?`

// trafficOf is the same in a transaction that writes.
func trafficOf(t database.Tx, connector string) (before collection.Traffic, err error) {
	var counts []byte
	switch err := t.Row(trafficQuery, connector).Scan(&counts); {
	case errors.Is(err, sql.ErrNoRows):
		return before, nil
	case err != nil:
		return before, err
	}
	return before, readTraffic(counts, &before)
}

func readTraffic(counts []byte, t *collection.Traffic) error {
	if json.Unmarshal(counts, t) != nil {
		return store.ErrDamaged
	}
	return nil
}

// addTraffic stores what became of all that was asked for: by the runs before this one,
// and by this one so far, if that is known.
func (l *ledger) addTraffic(t database.Tx, now *collection.Traffic) error {
	if now == nil {
		return nil
	}
	counts, err := json.Marshal(l.trafficBefore.Add(*now))
	if err != nil {
		return err
	}
	return t.Exec(`INSERT INTO traffic (connector, counts) VALUES (?1, ?2)
		ON CONFLICT (connector) DO UPDATE SET counts = ?2`, l.Connector, string(counts))
}

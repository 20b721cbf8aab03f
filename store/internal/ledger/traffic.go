package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// Measures returns what is counted over all runs; see store.Reader. It asks one query,
// however many connectors there are.
func (r reader) Measures(ctx context.Context, connector string) (map[string]store.Measures, error) {
	of, args := database.Of("l.connector", connector)
	all := map[string]store.Measures{}
	err := r.readers.Query(ctx, func(row database.Scanner) error {
		var name string
		var counts []byte
		var m store.Measures
		err := row.Scan(&name, &counts, format.TimeTo(&m.SuccessAt))
		if err == nil && len(counts) > 0 {
			err = readTraffic(counts, &m.Traffic)
		}
		all[name] = m
		return err
	}, `SELECT l.connector, coalesce(t.counts, ''),
			(SELECT ended_at FROM runs WHERE connector = l.connector AND exit_code = 0 ORDER BY number DESC LIMIT 1)
		FROM leases l LEFT JOIN traffic t ON t.connector = l.connector WHERE `+of, args...)
	return all, err
}

// trafficOf returns what became of all that a connector asked for so far.
func trafficOf(t database.Tx, connector string) (before collection.Traffic, err error) {
	var counts []byte
	switch err := t.Row(`SELECT counts FROM traffic WHERE connector = ?`, connector).Scan(&counts); {
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

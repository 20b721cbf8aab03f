// Package postgres is a coordinator in Postgres, for the nodes of several
// machines. It takes any driver of database/sql.
//
// A fleet is one row, which a report locks, so that reports count one after
// the other, by the clock of the server. A server that was started again, or
// was a standby, has another start or timeline; what it remembers may be older
// than what was granted (a standby that lagged, synchronous_commit that is
// off), and counts as lost.
package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"collect/pacing/coordinator"
)

// Schema is the table of the fleets. It is logged: an unlogged one would be
// emptied by a crash.
const Schema = `
CREATE TABLE IF NOT EXISTS in_flight_budgets (
    key        text PRIMARY KEY,
    state      jsonb NOT NULL,
    changed_at timestamptz NOT NULL
)`

// A Coordinator grants shares by what a Postgres server remembers.
type Coordinator struct {
	db    *sql.DB
	rules coordinator.Rules
}

// New returns a coordinator. The database, which has the table of [Schema],
// stays the caller's.
func New(db *sql.DB, rules coordinator.Rules) (*Coordinator, error) {
	if err := rules.Check(); err != nil {
		return nil, err
	}
	return &Coordinator{db: db, rules: rules}, nil
}

// Beat implements [coordinator.Coordinator].
func (c *Coordinator) Beat(ctx context.Context, key string, r coordinator.Report) (coordinator.Grant, error) {
	if err := r.Check(); err != nil {
		return coordinator.Grant{}, err
	}
	g, err := c.beat(ctx, key, r)
	if err != nil && !errors.Is(err, coordinator.ErrStale) {
		err = fmt.Errorf("coordinator in postgres: %w", err)
	}
	return g, err
}

func (c *Coordinator) beat(ctx context.Context, key string, r coordinator.Report) (coordinator.Grant, error) {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return coordinator.Grant{}, err
	}
	defer tx.Rollback() // after a commit it does nothing
	s, err := lock(ctx, tx, key)
	if err != nil {
		return coordinator.Grant{}, err
	}
	server, now, err := clock(ctx, tx)
	if err != nil {
		return coordinator.Grant{}, err
	}
	s, g, err := coordinator.Compute(s, r, c.rules, server, now)
	if err != nil {
		return coordinator.Grant{}, err
	}
	state, err := json.Marshal(s)
	if err != nil {
		return coordinator.Grant{}, err
	}
	const update = `UPDATE in_flight_budgets SET state = $2, changed_at = clock_timestamp() WHERE key = $1`
	if _, err := tx.ExecContext(ctx, update, key, string(state)); err != nil {
		return coordinator.Grant{}, err
	}
	return g, tx.Commit()
}

// lock returns the state of a fleet, which nobody else changes until tx ends.
func lock(ctx context.Context, tx *sql.Tx, key string) (s coordinator.State, err error) {
	const insert = `INSERT INTO in_flight_budgets VALUES ($1, '{}', clock_timestamp()) ON CONFLICT DO NOTHING`
	if _, err := tx.ExecContext(ctx, insert, key); err != nil {
		return s, err
	}
	var state []byte
	row := tx.QueryRowContext(ctx, `SELECT state FROM in_flight_budgets WHERE key = $1 FOR UPDATE`, key)
	if err := row.Scan(&state); err != nil {
		return s, err
	}
	return s, json.Unmarshal(state, &s)
}

// clock returns which life of the server this is, and its time in microseconds.
// It is asked once the row is locked: a time from before would be older than
// that of the report that had the lock.
func clock(ctx context.Context, tx *sql.Tx) (server string, now int64, err error) {
	const query = `SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || ' ' ||
	       extract(epoch FROM pg_postmaster_start_time())::text,
	       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	err = tx.QueryRowContext(ctx, query).Scan(&server, &now)
	return server, now, err
}

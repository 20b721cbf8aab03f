package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/ledger"
)

// The state of a copy is a row of the table meta, in the copy itself.
const (
	stateName = "copy"

	copyingOf = "copying " // and the stamp of the source
	refuted   = "refuted"  // it is not equal
	wholeOf   = "whole "   // and the stamp: it was proven; it stays in the finished store
)

// mark says in a copy what its state is.
func mark(tx database.Tx, state string) error {
	return tx.Exec(`INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2`, stateName, []byte(state))
}

// stateOf returns the state of a copy; "" for a store that is none.
func stateOf(ctx context.Context, r *database.Readers) (string, error) {
	var state []byte
	_, err := r.One(ctx, []any{&state}, `SELECT value FROM meta WHERE name = ?`, stateName)
	return string(state), err
}

// stampOf returns a text that is another one after each write of a store: each run and each
// order numbers its writes in its lease, or leaves an event; what has neither is in
// meta.
func stampOf(ctx context.Context, r *database.Readers) (string, error) {
	h := sha256.New()
	for _, query := range []string{
		`SELECT 'version', coalesce(max(version_id), 0), 0, '' FROM goose_db_version`,
		`SELECT 'event', coalesce(max(id), 0), 0, '' FROM events`,
		`SELECT 'slice', coalesce(max(id), 0), 0, '' FROM slices`,
		`SELECT connector, epoch, writes, coalesce(run, '') FROM leases ORDER BY connector`,
	} {
		err := r.Query(ctx, func(row database.Scanner) error {
			var what, run string
			var a, b int64
			err := row.Scan(&what, &a, &b, &run)
			fmt.Fprintf(h, "%q %d %d %q\n", what, a, b, run)
			return err
		}, query)
		if err != nil {
			return "", err
		}
	}
	err := r.Query(ctx, func(row database.Scanner) error {
		var name string
		var value []byte
		err := row.Scan(&name, &value)
		fmt.Fprintf(h, "%q %x\n", name, value)
		return err
	}, `SELECT name, value FROM meta WHERE name <> ? ORDER BY name`, stateName)
	return hex.EncodeToString(h.Sum(nil)), err
}

// Copied reports whether a store began as the proven copy of the state that another one has now.
func Copied(ctx context.Context, from, there Side) (bool, error) {
	stamp, err := stampOf(ctx, from.Readers)
	if err != nil {
		return false, err
	}
	state, err := stateOf(ctx, there.Readers)
	return state == wholeOf+stamp, err
}

// Hold takes the locks of all connectors of a store, so that no run of them begins. Take takes
// one. It returns a *[store.HeldError] if a run is under way, and store.ErrInUse if it
// is an order.
func Hold(ctx context.Context, r *database.Readers, take func(context.Context, string) (ledger.Lock, error)) error {
	var connectors []string
	if err := r.Query(ctx, database.Texts(&connectors), `SELECT connector FROM leases ORDER BY connector`); err != nil {
		return err
	}
	for _, connector := range connectors {
		_, err := take(ctx, connector)
		if held, ok := errors.AsType[*store.HeldError](err); ok && held.Run.ID == "" {
			return fmt.Errorf("store %s %w: an order for %s is under way, or another copy", r.Name, store.ErrInUse, connector)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

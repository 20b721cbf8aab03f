package fleet

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"collect/migrations"
	"collect/store"
	"collect/store/postgres"
)

// migrate makes the tables, or brings them up to date. Processes that start at the same
// time take turns. Killed at any moment, it goes on from there the next time.
func (f *Fleet) migrate(ctx context.Context) error {
	var usable bool
	if err := f.pool.QueryRow(ctx, "SELECT current_schema() IS NOT NULL").Scan(&usable); err != nil {
		return err
	}
	if !usable {
		return fmt.Errorf("store %s %w: its schema is not there, or is not for this user", f.pool.Name(), store.ErrNoAccess)
	}
	if done, err := f.migrated(ctx); done || err != nil {
		return err
	}
	turn, err := f.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer turn.Release()
	if _, err := turn.Exec(ctx, "SELECT pg_advisory_lock($1)", f.pool.Number("fleet schema")); err != nil {
		return err
	}
	defer turn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", f.pool.Number("fleet schema"))
	if done, err := f.migrated(ctx); done || err != nil { // by another process meanwhile
		return err
	}
	return f.change(ctx, f.apply(ctx))
}

// migrated reports whether the tables are of this version, or of a newer one that it can work
// with; an error if it cannot.
func (f *Fleet) migrated(ctx context.Context) (bool, error) {
	have, err := f.version(ctx)
	if err != nil || have < len(files()) {
		return false, err
	}
	var least int
	if err := f.pool.QueryRow(ctx, `SELECT least FROM fleet_version`).Scan(&least); err != nil {
		return false, err
	}
	if least > len(files()) {
		return false, fmt.Errorf("the queue of the fleet was %w", store.ErrNewer)
	}
	return true, nil
}

// version returns the version of the tables, 0 if there are none.
func (f *Fleet) version(ctx context.Context) (v int, err error) {
	var there bool
	if err := f.pool.QueryRow(ctx, `SELECT to_regclass('fleet_version') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = f.pool.QueryRow(ctx, `SELECT version FROM fleet_version`).Scan(&v)
	return v, err
}

// apply applies the migrations that the database has not seen.
func (f *Fleet) apply(ctx context.Context) func(postgres.Tx) error {
	return func(tx postgres.Tx) error {
		have, err := f.version(ctx)
		if err != nil {
			return err
		}
		for _, file := range files()[have:] {
			text, err := fs.ReadFile(migrations.Fleet, file)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(text)); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `UPDATE fleet_version SET version = $1`, len(files()))
		return err
	}
}

// files are the migrations, by their number: the n-th makes version n.
func files() []string {
	names, _ := fs.Glob(migrations.Fleet, "fleet/*.sql") // the pattern is well formed
	number := func(name string) int {
		digits, _, _ := strings.Cut(strings.TrimPrefix(name, "fleet/"), "_")
		n, _ := strconv.Atoi(digits) // a test reads them
		return n
	}
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	return names
}

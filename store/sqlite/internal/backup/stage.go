package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"collect/collection"
	"collect/store"
	"collect/store/internal/format"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
	"collect/store/sqlite/salvage"
)

// stage copies the backup beside the store and makes it fit to take its place.
func (r *restoring) stage(ctx context.Context, from string, audit store.Audit) error {
	if err := copyBackup(ctx, from, r.staged); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := connect.Migrate(ctx, r.staged, false, connect.Never); err != nil {
		return fmt.Errorf("backup: %w", connect.Classify(&disk.File{Path: from}, err))
	}
	db := connect.Single(r.staged)
	err := r.carryOver(ctx, db, audit)
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("backup: %w", connect.Classify(&disk.File{Path: from}, err))
	}
	if err := salvage.ExamineCopy(ctx, r.staged); err != nil {
		return fmt.Errorf("backup %s: %w", from, err)
	}
	return flush(r.staged, r.staged)
}

// copyBackup copies a backup, with a log if it has one, without touching it.
func copyBackup(ctx context.Context, from, to string) error {
	from, err := disk.Resolve(from)
	if err != nil {
		return err
	}
	if err := salvage.CheckLog(from); err != nil {
		return err
	}
	mode := "immutable"
	if disk.LogSize(from) > 0 {
		mode = "ro"
	}
	file, err := disk.Find(from)
	if err != nil {
		return err
	}
	s := connect.OpenReaders(file, mode)
	have, err := connect.Version(ctx, s)
	switch {
	case err != nil:
		err = s.Classify(err)
	case have == 0:
		err = connect.ErrEmpty(from)
	case have > connect.Newest():
		err = fmt.Errorf("it was %w", store.ErrNewer)
	default:
		err = connect.CopyTo(ctx, s, to)
	}
	return errors.Join(err, s.DB.Close())
}

// carryOver takes over from the old store what must not be forgotten, and
// leaves a trace of who restored.
func (r *restoring) carryOver(ctx context.Context, db *sql.DB, audit store.Audit) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	if r.readable {
		if err := r.carryState(ctx, tx); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO events (at, kind, connector, run, provider, stream, partition, lane, info)
		SELECT ?1, ?2, connector, '', '', '', '', '', json_object('message', ?3) FROM leases`,
		format.Time(r.now), string(collection.StoreRestored), audit.String())
	if err != nil {
		return err
	}
	return tx.Commit()
}

// carryState copies the newer states of providers, the higher epochs, and when the store
// was copied, as far as they can be read.
func (r *restoring) carryState(ctx context.Context, tx *sql.Tx) (err error) {
	old := connect.OpenReaders(r.file, "ro").DB
	defer func() { err = errors.Join(err, old.Close(), r.unlessDamaged(connect.Tidy(r.path))) }()
	for _, table := range []struct{ read, write string }{
		{`SELECT domain, state, saved_at FROM provider_state
			WHERE json_valid(state) AND julianday(saved_at) IS NOT NULL`,
			`INSERT INTO provider_state (domain, state, saved_at) VALUES (?1, ?2, ?3)
			ON CONFLICT (domain) DO UPDATE SET state = ?2, saved_at = ?3 WHERE saved_at < ?3`},
		{`SELECT connector, epoch, since FROM leases WHERE julianday(since) IS NOT NULL`,
			`INSERT INTO leases (connector, epoch, run, host, pid, since, beat_at, writes) VALUES (?1, ?2, NULL, '', 0, ?3, ?3, 0)
			ON CONFLICT (connector) DO UPDATE SET epoch = ?2 WHERE epoch < ?2`},
		{`SELECT name, value, value FROM meta WHERE name IN ('` + backedUp + `', '` + drilled + `')`, keepNewest},
	} {
		if err := r.carry(ctx, old, tx, table.read, table.write); err != nil {
			return err
		}
	}
	return nil
}

// carry writes what a query of three columns finds in the old store.
func (r *restoring) carry(ctx context.Context, old *sql.DB, tx *sql.Tx, read, write string) error {
	rows, err := old.QueryContext(ctx, read)
	if err != nil {
		return r.unlessDamaged(err)
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		var a, b, c any
		if err := rows.Scan(&a, &b, &c); err != nil {
			return r.unlessDamaged(err)
		}
		if _, err := tx.ExecContext(ctx, write, a, b, c); err != nil {
			return err
		}
	}
	return r.unlessDamaged(rows.Err())
}

package connect

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/sqlite/internal/disk"
)

// CopyTo copies the database, as it is now, to a new file.
func CopyTo(ctx context.Context, r *database.Readers, path string) error {
	disk.Remove(path) // what a process that was killed left
	if err := disk.CreateEmpty(path); err != nil {
		return disk.NoAccess(path, err)
	}
	conn, err := r.DB.Conn(ctx)
	if err != nil {
		return r.Classify(err)
	}
	defer conn.Close()
	// A backup starts again whenever somebody writes, unless its connection
	// holds on to one state.
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return r.Classify(err)
	}
	defer tx.Rollback() // nothing was written
	var tables int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return r.Classify(err)
	}
	err = conn.Raw(func(conn any) error {
		from, ok := conn.(interface {
			NewBackup(string) (*sqlite.Backup, error)
		})
		if !ok {
			return errors.New("the driver makes no backups")
		}
		// If it fails, the file is removed: it needs no journal.
		backup, err := from.NewBackup(dsn(path, "rw", "journal_mode(OFF)", "synchronous(OFF)"))
		if err != nil {
			return err
		}
		const pages = 1024 // 4 MiB between two looks at ctx
		for more := true; more && err == nil; {
			if err = context.Cause(ctx); err == nil {
				more, err = backup.Step(pages)
			}
		}
		return errors.Join(err, backup.Finish())
	})
	if disk.IsFull(err) || disk.NoSpace(path) && err != nil {
		return fmt.Errorf("backup %s: %w: %w", path, collection.ErrFull, err)
	}
	if err := r.Classify(err); err != nil {
		return err
	}
	return r.Whole()
}

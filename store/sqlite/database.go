package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"collect/internal/filelock"
	"collect/store"
	"collect/store/sqlite/internal/disk"
)

// A database is the connections to one file.
type database struct {
	*readers
	writer *writer // nil: read-only
}

// openDatabase opens the database at path, whose links are resolved, to be
// written, and brings its schema up to date. If create is set it makes the
// file, or fills an empty one.
func openDatabase(ctx context.Context, path string, create bool) (*database, error) {
	find := disk.Find
	if create {
		find = disk.Create
	}
	file, err := find(path)
	if err != nil {
		return nil, err
	}
	if err := disk.ReadyToWrite(path); err != nil {
		return nil, err
	}
	if err := migrate(ctx, path, create, never); err != nil {
		return nil, classify(file, err)
	}
	// Before, not after: a file that is replaced in between is then found out.
	if file, err = disk.Find(path); err != nil {
		return nil, err
	}
	w, err := openWriter(file)
	if err != nil {
		return nil, classify(file, err)
	}
	if err := file.Watch(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return &database{openReaders(file, "ro"), w}, nil
}

// lookInto opens the database at path, whose links are resolved, without
// changing a byte of it.
//
// Where the directory can be written, the connections are ordinary readers:
// SQLite makes a -wal and -shm for the time, which let a run begin meanwhile,
// and tidy removes them. In a directory that cannot be written they cannot be
// made. Then, if there is no WAL, the file holds everything, and it is read
// as one that does not change; guard notices if it does.
func lookInto(ctx context.Context, path string) (*database, error) {
	file, err := disk.Find(path)
	if err != nil {
		return nil, err
	}
	if err := disk.RefuseNetwork(filepath.Dir(path)); err != nil {
		return nil, err
	}
	d := &database{readers: openReaders(file, "ro")}
	err = checkVersion(ctx, path, d.db)
	if err != nil && isCannotOpen(err) && disk.LogSize(path) <= 0 {
		before, findErr := disk.Find(path)
		if findErr != nil {
			return nil, errors.Join(findErr, d.db.Close())
		}
		err = d.db.Close()
		d.readers = openReaders(before, "immutable")
		d.guard = before.Unchanged
		if err == nil {
			err = checkVersion(ctx, path, d.db)
		}
	}
	if err != nil {
		return nil, errors.Join(classify(file, err), d.close())
	}
	return d, nil
}

// close closes all connections. The last one to close a database merges its
// WAL, so that one file is left.
func (d *database) close() error {
	path := d.file.Path
	errs := []error{d.db.Close()}
	if d.writer != nil || disk.LogSize(path) == 0 && disk.CanWrite(path) {
		// Of two that close at the same moment each finds the other still
		// there, and neither removes the WAL. So they take turns; if that
		// takes too long, a leftover is the lesser evil.
		if l, err := filelock.AcquireWait(context.Background(), path+".lock", disk.Patience); err == nil {
			defer l.Release() // the kernel frees it in any case
		}
	}
	if d.writer != nil {
		errs = append(errs, d.writer.close())
	}
	return errors.Join(append(errs, tidy(path))...)
}

// tidy removes the -wal and -shm that readers of the database at path left,
// if the WAL is empty. A connection that can write removes them itself when
// it is the last; SQLite knows whether it is. A WAL that is not empty belongs
// to a run, living or killed, and merging it would change the file.
func tidy(path string) error {
	if disk.LogSize(path) != 0 || !disk.CanWrite(path) {
		return nil
	}
	db := open(dsn(path, "rw"))
	var n int
	err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n)
	return errors.Join(err, db.Close())
}

// takeAlone merges the log of the database at path and keeps everybody else out
// until what it returns is closed. It leaves WAL mode for that, which SQLite
// grants only to one who is alone. It returns store.ErrInUse if others have the
// database open.
func takeAlone(ctx context.Context, path string) (*sql.DB, error) {
	db := open(dsn(path, "rw", "synchronous(FULL)", fmt.Sprintf("busy_timeout(%d)", disk.Patience.Milliseconds())))
	db.SetMaxOpenConns(1)
	var mode string
	err := db.QueryRowContext(ctx, "PRAGMA journal_mode=DELETE").Scan(&mode)
	if err == nil && mode == "delete" {
		_, err = db.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	switch {
	case err == nil && mode != "delete":
		err = fmt.Errorf("store %s %w", path, store.ErrInUse)
	case isBusy(err):
		err = fmt.Errorf("store %s %w: %w", path, store.ErrInUse, err)
	}
	return db, err
}

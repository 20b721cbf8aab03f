// Package connect opens a SQLite file with the settings that durability rests on,
// brings its schema up to date, and tells its errors in the words of package store.
package connect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"collect/internal/filelock"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/sqlite/internal/disk"
)

// A DB is the connections to one file.
type DB struct {
	*database.Readers
	File   *disk.File
	Writer *database.Writer // nil: read-only
	Turns  *Turns           // of the writer
}

// Open opens the database at path, whose links are resolved, to be
// written, and brings its schema up to date. If create is set it makes the
// file, or fills an empty one.
func Open(ctx context.Context, path string, create bool) (*DB, error) {
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
	if err := Migrate(ctx, path, create, Never); err != nil {
		return nil, Classify(file, err)
	}
	// Before, not after: a file that is replaced in between is then found out.
	if file, err = disk.Find(path); err != nil {
		return nil, err
	}
	turns := &Turns{File: file, Most: database.Patience, waits: database.Patience}
	w, err := turns.writer()
	if err != nil {
		return nil, Classify(file, err)
	}
	if err := file.Watch(); err != nil {
		return nil, errors.Join(err, turns.close(w))
	}
	return &DB{OpenReaders(file, "ro"), file, w, turns}, nil
}

// Look opens the database at path, whose links are resolved, without
// changing a byte of it.
//
// Where the directory can be written, the connections are ordinary readers:
// SQLite makes a -wal and -shm for the time, which let a run begin meanwhile,
// and tidy removes them. In a directory that cannot be written they cannot be
// made. Then, if there is no WAL, the file holds everything, and it is read
// as one that does not change; guard notices if it does.
func Look(ctx context.Context, path string) (*DB, error) {
	file, err := disk.Find(path)
	if err != nil {
		return nil, err
	}
	if err := disk.RefuseNetwork(filepath.Dir(path)); err != nil {
		return nil, err
	}
	d := &DB{Readers: OpenReaders(file, "ro"), File: file}
	err = checkVersion(ctx, path, d.DB)
	if err != nil && isCannotOpen(err) && disk.LogSize(path) <= 0 {
		before, findErr := disk.Find(path)
		if findErr != nil {
			return nil, errors.Join(findErr, d.DB.Close())
		}
		err = d.DB.Close()
		d.Readers, d.File = OpenReaders(before, "immutable"), before
		d.Guard = before.Unchanged
		if err == nil {
			err = checkVersion(ctx, path, d.DB)
		}
	}
	if err != nil {
		return nil, errors.Join(Classify(file, err), d.Close())
	}
	return d, nil
}

// Close closes all connections. The last one to close a database merges its
// WAL, so that one file is left.
func (d *DB) Close() error {
	path := d.File.Path
	errs := []error{d.DB.Close()}
	if d.Writer != nil || disk.LogSize(path) == 0 && disk.CanWrite(path) {
		// Of two that close at the same moment each finds the other still
		// there, and neither removes the WAL. So they take turns; if that
		// takes too long, a leftover is the lesser evil.
		if l, err := filelock.AcquireWait(context.Background(), path+".lock", disk.Patience); err == nil {
			defer l.Release() // the kernel frees it in any case
		}
	}
	if d.Writer != nil {
		errs = append(errs, d.Turns.close(d.Writer))
	}
	return errors.Join(append(errs, Tidy(path))...)
}

// Tidy removes the -wal and -shm that readers of the database at path left,
// if the WAL is empty. A connection that can write removes them itself when
// it is the last; SQLite knows whether it is. A WAL that is not empty belongs
// to a run, living or killed, and merging it would change the file.
func Tidy(path string) error {
	if disk.LogSize(path) != 0 || !disk.CanWrite(path) {
		return nil
	}
	db := open(dsn(path, "rw"))
	var n int
	err := db.QueryRow("PRAGMA user_version").Scan(&n) // which opens the log, and does not parse the schema
	return errors.Join(err, db.Close())
}

// TakeAlone merges the log of the database at path and keeps everybody else out
// until what it returns is closed. It leaves WAL mode for that, which SQLite
// grants only to one who is alone. It returns store.ErrInUse if others have the
// database open.
func TakeAlone(ctx context.Context, path string) (*sql.DB, error) {
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

// Shrink writes the database at path anew, without its free pages. It returns
// store.ErrInUse if others have the database open.
func Shrink(ctx context.Context, path string) error {
	file, err := disk.Find(path)
	if err != nil {
		return err
	}
	db, err := TakeAlone(ctx, path)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	for _, step := range []string{
		"COMMIT", // of nothing: VACUUM wants no transaction, and takes the lock again
		"PRAGMA temp_store_directory = '" + strings.ReplaceAll(filepath.Dir(path), "'", "''") + "'", // /tmp may be small
		"VACUUM",
		"PRAGMA journal_mode = WAL",
	} {
		if _, err = db.ExecContext(ctx, step); err != nil {
			break
		}
	}
	if isBusy(err) {
		err = fmt.Errorf("store %s %w: %w", path, store.ErrInUse, err)
	} else {
		err = Classify(file, err)
	}
	return errors.Join(err, db.Close())
}

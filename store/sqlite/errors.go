package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"collect/collection"
	"collect/store"
)

// classify puts an error of the driver for the database at path into the
// words of the port. Every other error is returned as it is.
func classify(path string, err error) error {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch driverErr.Code() & 0xff { // the rest is detail
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", collection.ErrFull, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("store %s: %w: %w", path, store.ErrDamaged, err)
	case lib.SQLITE_IOERR:
		// SQLite says FULL when the data does not fit, and IOERR when its
		// shared memory or a flush does not.
		if noSpace(path) {
			return fmt.Errorf("%w: %w", collection.ErrFull, err)
		}
	}
	return err
}

// isCannotOpen reports whether SQLite could not open or make a file it needs.
func isCannotOpen(err error) bool {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch driverErr.Code() & 0xff {
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY:
		return true
	}
	return false
}

package connect

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite/internal/disk"
)

// code returns the code of an error of SQLite, and the part of it that says
// what kind of error it is; -1 if it is none.
func code(err error) (kind, detailed int) {
	if driverErr, ok := errors.AsType[*sqlite.Error](err); ok {
		return driverErr.Code() & 0xff, driverErr.Code()
	}
	return -1, -1
}

// own are the errors of a database.
type own struct{ file *disk.File }

// Classify is [Classify] for the file.
func (o own) Classify(err error) error { return Classify(o.file, err) }

// Own reports whether SQLite made an error; see database.Errors.
func (own) Own(err error) bool {
	kind, _ := code(err)
	return kind >= 0
}

// Classify puts an error of the driver, or of the operating system, about a
// database into the words of the port. Every other error is returned as it is.
func Classify(f *disk.File, err error) error {
	kind, detailed := code(err)
	switch kind {
	case -1:
		return f.Classify(err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", collection.ErrFull, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("store %s: %w: %w", f.Path, store.ErrDamaged, err)
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_PERM:
		if gone := f.Gone(err); gone != nil {
			return gone
		}
		return disk.NoAccess(f.Path, err)
	case lib.SQLITE_IOERR:
		return classifyIO(f, detailed, err)
	case lib.SQLITE_BUSY: // after all the patience of the connection
		return fmt.Errorf("store %s %w: %w", f.Path, store.ErrLocked, err)
	case lib.SQLITE_PROTOCOL: // locks were refused, again and again
		return disk.Broken(f.Path, err)
	}
	return err
}

// classifyIO does so for what SQLite calls a disk I/O error. Most often the
// disk is well: the files were changed behind its back, or are full.
func classifyIO(f *disk.File, code int, err error) error {
	if gone := f.Gone(err); gone != nil {
		return gone
	}
	// SQLite says FULL when the data does not fit, and IOERR when its shared
	// memory or a flush does not.
	if disk.NoSpace(f.Path) {
		return fmt.Errorf("%w: %w", collection.ErrFull, err)
	}
	if code == lib.SQLITE_IOERR_SHORT_READ { // a file ends before what it must hold
		return fmt.Errorf("store %s: %w: %w", f.Path, store.ErrDamaged, err)
	}
	return disk.Broken(f.Path, err)
}

// isCannotOpen reports whether SQLite could not open or make a file it needs.
func isCannotOpen(err error) bool {
	kind, _ := code(err)
	return kind == lib.SQLITE_CANTOPEN || kind == lib.SQLITE_READONLY
}

// isNotDatabase reports whether SQLite does not know the file for its own.
func isNotDatabase(err error) bool {
	kind, _ := code(err)
	return kind == lib.SQLITE_NOTADB
}

// IsSQL reports whether SQLite found a mistake in a statement.
func IsSQL(err error) bool {
	kind, _ := code(err)
	return kind == lib.SQLITE_ERROR
}

// isBusy reports whether somebody else has what SQLite needs.
func isBusy(err error) bool {
	kind, _ := code(err)
	return kind == lib.SQLITE_BUSY || kind == lib.SQLITE_LOCKED
}

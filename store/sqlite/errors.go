package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"collect/collection"
	"collect/store"
)

// classify puts an error of the driver, or of the operating system, into the
// words of the port. Every other error is returned as it is.
func (s *Store) classify(err error) error {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return s.classifyFile(err)
	}
	switch driverErr.Code() & 0xff { // the rest is detail
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", collection.ErrFull, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("store %s: %w: %w", s.path, store.ErrDamaged, err)
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_PERM:
		if gone := s.inPlace(); errors.Is(gone, store.ErrMissing) {
			return fmt.Errorf("%w: %w", gone, err)
		}
		return noAccess(s.path, err)
	case lib.SQLITE_IOERR:
		return s.classifyIO(driverErr.Code(), err)
	case lib.SQLITE_BUSY: // after all the patience of the connection
		return fmt.Errorf("store %s %w: %w", s.path, store.ErrLocked, err)
	case lib.SQLITE_PROTOCOL: // locks were refused, again and again
		return disk(s.path, err)
	}
	return err
}

// classifyIO does so for what SQLite calls a disk I/O error. Most often the
// disk is well: the files were changed behind its back, or are full.
func (s *Store) classifyIO(code int, err error) error {
	if gone := s.inPlace(); errors.Is(gone, store.ErrMissing) {
		return fmt.Errorf("%w: %w", gone, err)
	}
	// SQLite says FULL when the data does not fit, and IOERR when its shared
	// memory or a flush does not.
	if noSpace(s.path) {
		return fmt.Errorf("%w: %w", collection.ErrFull, err)
	}
	if code == lib.SQLITE_IOERR_SHORT_READ { // a file ends before what it must hold
		return fmt.Errorf("store %s: %w: %w", s.path, store.ErrDamaged, err)
	}
	return disk(s.path, err)
}

// classifyFile does so for an error of the files beside the database.
func (s *Store) classifyFile(err error) error {
	switch {
	case errors.Is(err, store.ErrNoAccess), errors.Is(err, store.ErrMissing), errors.Is(err, store.ErrDisk), errors.Is(err, collection.ErrFull):
		return err // it is in those words already
	case errors.Is(err, fs.ErrNotExist):
		if gone := s.inPlace(); errors.Is(gone, store.ErrMissing) {
			return fmt.Errorf("%w: %w", gone, err)
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), isFull(err):
		return noAccess(s.path, err)
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOLCK):
		return disk(s.path, err)
	}
	return err
}

// inPlace returns store.ErrMissing if the path no longer leads to the file
// that was opened. What SQLite writes to such a file is lost when it is
// closed, and SQLite itself does not look. It returns store.ErrLogGone if that
// is so of the log or of the shared memory of a store that writes: who opens
// the database then makes new ones, in which the locks of this process are not
// seen, and two writers ruin it.
//
// It must not open the file: see canWrite.
func (s *Store) inPlace() error {
	now, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(s.file, now):
		return fmt.Errorf("store %s was removed or replaced while in use: it %w any more", s.path, store.ErrMissing)
	case err != nil:
		return noAccess(s.path, err)
	}
	for end, opened := range s.sidecars {
		now, err := os.Stat(s.path + end)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(opened, now):
			return fmt.Errorf("store %s %w: %s was removed or replaced while in use", s.path, store.ErrLogGone, filepath.Base(s.path)+end)
		case err != nil:
			return noAccess(s.path, err)
		}
	}
	return nil
}

// noAccess wraps an error of opening or making the store at path, or a file
// beside it. A full disk is collection.ErrFull, a broken one store.ErrDisk;
// everything else that the operating system refuses is store.ErrNoAccess.
func noAccess(path string, err error) error {
	switch {
	case isFull(err):
		return fmt.Errorf("store %s: %w: %w", path, collection.ErrFull, err)
	case errors.Is(err, syscall.EIO):
		return disk(path, err)
	}
	return fmt.Errorf("store %s %w: %w", path, store.ErrNoAccess, err)
}

// disk wraps an error of the disk that holds the store at path.
func disk(path string, err error) error {
	return fmt.Errorf("the disk of store %s %w: %w", path, store.ErrDisk, err)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
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

// isNotDatabase reports whether SQLite does not know the file for its own.
func isNotDatabase(err error) bool {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	return ok && driverErr.Code()&0xff == lib.SQLITE_NOTADB
}

// isSQL reports whether SQLite found a mistake in a statement.
func isSQL(err error) bool {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	return ok && driverErr.Code()&0xff == lib.SQLITE_ERROR
}

// isBusy reports whether somebody else has what SQLite needs.
func isBusy(err error) bool {
	driverErr, ok := errors.AsType[*sqlite.Error](err)
	return ok && (driverErr.Code()&0xff == lib.SQLITE_BUSY || driverErr.Code()&0xff == lib.SQLITE_LOCKED)
}

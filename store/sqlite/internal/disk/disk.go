// Package disk looks after the files of a database: who may use them, whether
// they are still those that were opened, and what the operating system says of
// them, in the words of package store.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"collect/internal/dirsync"
	"collect/store"
)

// A File is a database that was found at a path, with what belongs to it.
type File struct {
	Path   string                 // links in it are resolved
	info   fs.FileInfo            // which file was found there
	beside map[string]fs.FileInfo // which files were opened beside it, by the ends of their names; empty: read-only
}

// Find tells which file is at path.
func Find(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("store %s %w", path, store.ErrMissing)
	case err != nil:
		return nil, NoAccess(path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("store %s %w: it is not a regular file", path, store.ErrNotDatabase)
	}
	return &File{Path: path, info: info}, nil
}

// Create makes the file and its directories, for the user's eyes only,
// whatever the umask. SQLite gives its -wal and -shm the mode of the file.
func Create(path string) (*File, error) {
	if err := CreateDir(filepath.Dir(path)); err != nil {
		return nil, NoAccess(path, err)
	}
	if err := CreateEmpty(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, NoAccess(path, err)
	}
	return Find(path)
}

// CreateEmpty makes a file that nothing has the name of.
func CreateEmpty(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func CreateDir(dir string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := CreateDir(filepath.Dir(dir)); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was first
	}
	if err != nil {
		return err
	}
	// SQLite syncs the directory of the files that it makes, and never looks above.
	return errors.Join(os.Chmod(dir, 0o700), dirsync.Sync(filepath.Dir(dir))) // #nosec G302 -- a directory is entered by its x
}

// Size returns the size of the file when it was found.
func (f *File) Size() int64 { return f.info.Size() }

// Is reports whether info is of the same file.
func (f *File) Is(info fs.FileInfo) bool { return os.SameFile(f.info, info) }

// Same reports whether both are one file.
func (f *File) Same(other *File) bool { return f.Is(other.info) }

// Sidecars are the ends of the names of what belongs to an open store: its log
// and its shared memory.
var Sidecars = []string{"-wal", "-shm"}

// Watch notes which files are beside the database, which was opened to be
// written.
func (f *File) Watch() error {
	f.beside = map[string]fs.FileInfo{}
	for _, end := range Sidecars {
		info, err := os.Stat(f.Path + end)
		if err != nil {
			return NoAccess(f.Path+end, err)
		}
		f.beside[end] = info
	}
	return nil
}

// InPlace returns store.ErrMissing if the path no longer leads to the file
// that was found. What SQLite writes to such a file is lost when it is
// closed, and SQLite itself does not look. It returns store.ErrLogGone if that
// is so of the log or of the shared memory of a store that writes: who opens
// the database then makes new ones, in which the locks of this process are not
// seen, and two writers ruin it.
//
// It must not open the file: see canWrite.
func (f *File) InPlace() error {
	now, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !f.Is(now):
		return fmt.Errorf("store %s was removed or replaced while in use: it %w any more", f.Path, store.ErrMissing)
	case err != nil:
		return NoAccess(f.Path, err)
	}
	for end, opened := range f.beside {
		now, err := os.Stat(f.Path + end)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(opened, now):
			return fmt.Errorf("store %s %w: %s was removed or replaced while in use", f.Path, store.ErrLogGone, filepath.Base(f.Path)+end)
		case err != nil:
			return NoAccess(f.Path, err)
		}
	}
	return nil
}

// Gone returns an error that wraps store.ErrMissing and err if the file is not
// in its place any more, nil otherwise.
func (f *File) Gone(err error) error {
	if gone := f.InPlace(); errors.Is(gone, store.ErrMissing) {
		return fmt.Errorf("%w: %w", gone, err)
	}
	return nil
}

// Unchanged returns an error if the file is not as it was found, or has a WAL
// now.
func (f *File) Unchanged() error {
	now, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	if LogSize(f.Path) > 0 || now.Size() != f.info.Size() || !now.ModTime().Equal(f.info.ModTime()) {
		return fmt.Errorf("store %s changed while it was read from a directory that cannot be written", f.Path)
	}
	return nil
}

// ReadyToWrite returns an error if the store at path should not be opened to be
// written: for the file system it is on, for what may be done there, or for
// others that would not be seen.
func ReadyToWrite(path string) error {
	if err := RefuseNetwork(filepath.Dir(path)); err != nil {
		return err
	}
	if err := beWritable(path); err != nil {
		return err
	}
	return othersAreSeen(path)
}

// beWritable returns store.ErrNoAccess if the store at path, or a file beside
// it, may not be written. SQLite would find out when it has made files that it
// may not write either: it gives them the mode of the store. Such files, left
// by another program, get the mode that the store has now.
func beWritable(path string) error {
	info, err := os.Stat(path)
	if err == nil && !CanWrite(path) {
		err = fs.ErrPermission
	}
	if err != nil {
		return NoAccess(path, err)
	}
	for _, end := range Sidecars {
		if Missing(path+end) || CanWrite(path+end) {
			continue
		}
		if err := os.Chmod(path+end, info.Mode().Perm()); err != nil {
			return NoAccess(path+end, err)
		}
	}
	return nil
}

// Patience is how long one waits for others that use the store: for
// what they do in one step, not for their end.
const Patience = time.Second

// othersAreSeen returns store.ErrInUse if somebody has the store open, and the
// log or the shared memory is not at its path any more: to open the store now
// would make new ones, in which the locks of the other are not seen. One that opens or
// closes the store at this moment is waited for: many that begin at once on a busy machine
// take seconds.
func othersAreSeen(path string) error {
	for deadline := time.Now().Add(10 * Patience); Missing(path+"-wal") || Missing(path+"-shm"); {
		if !isOpen(path) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("store %s %w: the files that its users share (-wal, -shm) were removed; a run ends by itself", path, store.ErrInUse)
		}
		time.Sleep(poll)
	}
	return nil
}

// poll is how soon the files that users share are looked at again.
const poll = 5 * time.Millisecond

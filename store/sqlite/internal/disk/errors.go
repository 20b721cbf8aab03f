package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"collect/collection"
	"collect/store"
)

// Classify puts an error of the operating system, about the database or a file
// beside it, into the words of the port. Every other error is returned as it is.
func (f *File) Classify(err error) error {
	switch {
	case errors.Is(err, store.ErrNoAccess), errors.Is(err, store.ErrMissing), errors.Is(err, store.ErrDisk), errors.Is(err, collection.ErrFull):
		return err // it is in those words already
	case errors.Is(err, fs.ErrNotExist):
		if gone := f.Gone(err); gone != nil {
			return gone
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), IsFull(err):
		return NoAccess(f.Path, err)
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOLCK):
		return Broken(f.Path, err)
	}
	return err
}

// NoAccess wraps an error of opening or making the store at path, or a file
// beside it. A full disk is collection.ErrFull, a broken one store.ErrDisk;
// everything else that the operating system refuses is store.ErrNoAccess.
func NoAccess(path string, err error) error {
	switch {
	case IsFull(err):
		return fmt.Errorf("store %s: %w: %w", path, collection.ErrFull, err)
	case errors.Is(err, syscall.EIO):
		return Broken(path, err)
	}
	return fmt.Errorf("store %s %w: %w", path, store.ErrNoAccess, err)
}

// Broken wraps an error of the disk that holds the store at path.
func Broken(path string, err error) error {
	return fmt.Errorf("the disk of store %s %w: %w", path, store.ErrDisk, err)
}

// IsFull reports whether the disk, or what may be used of it, is full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

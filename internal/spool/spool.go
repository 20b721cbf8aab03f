// Package spool keeps answers that are too large for memory in files of a folder
// of their own, for as long as they are read.
package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"collect/collection"
	"collect/internal/freespace"
)

// Spare is how many bytes a file leaves free on its disk: the store is beside it
// and needs them.
const Spare = 128 << 20

// askEvery is how many bytes are written between two questions for free space.
const askEvery = 16 << 20

// A Folder holds the files of one run. Nobody else writes into it while the run
// has its lease.
type Folder struct{ Dir string }

// Clear removes the folder with what a run left in it that was killed, and the one
// around it if that is empty then.
func (f Folder) Clear() error {
	err := os.RemoveAll(f.Dir)
	_ = os.Remove(filepath.Dir(f.Dir)) // which fails while another folder is in it
	return err
}

// New returns an empty file of the folder, which only this user can read.
func (f Folder) New() (*File, error) {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(f.Dir, "body-")
	if err != nil {
		return nil, err
	}
	return &File{File: file, dir: f.Dir}, nil
}

// A File is written from its start to its end, and then read. It is not meant to
// outlive the process, and is never flushed to the disk.
type File struct {
	*os.File
	dir     string
	unasked int64 // bytes that may be written before free space is asked for
}

// Write adds p. It fails with [collection.ErrFull] if less than Spare would be left.
func (f *File) Write(p []byte) (int, error) {
	if f.unasked < int64(len(p)) {
		free, err := freespace.Of(f.dir)
		if err == nil && free < Spare+askEvery+int64(len(p)) {
			return 0, fmt.Errorf("%w for an answer beside the database: %s has less than %d MiB left", collection.ErrFull, f.dir, (Spare+askEvery)>>20)
		}
		f.unasked = askEvery + int64(len(p))
	}
	n, err := f.File.Write(p)
	f.unasked -= int64(n)
	return n, err
}

// Close removes the file, and its folder with the last one.
func (f *File) Close() error {
	err := f.File.Close()
	if removed := os.Remove(f.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	_ = os.Remove(f.dir) // which fails while another file is in it
	return err
}

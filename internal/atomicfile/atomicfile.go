// Package atomicfile writes files that are there as a whole or not at all.
//
// The bytes go into a new file beside the old one. It is synced and gets the name of
// the old one, and the folder is synced. A path may also name something other than a
// regular file, such as /dev/null, /dev/stdout or a pipe: that cannot be replaced, and
// is written to. A link is followed, so that it stays one.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"collect/internal/dirsync"
)

// Write makes what write writes the content of the file at path, which is 0600
// from then on. After an error, which may be that of write, the file is as it
// was.
func Write(path string, write func(io.Writer) error) error {
	path, special, err := Resolve(path)
	if err != nil {
		return err
	}
	if special {
		return writeTo(path, write)
	}
	f, err := Begin(path, path+"."+rand.Text()[:8]+".partial")
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// writeTo writes to something that is no regular file, or that cannot be replaced.
func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// A File is a file that is being written beside the one that it will replace.
type File struct {
	*os.File
	path string
}

// Begin makes the file beside, for the file at path, which are in one folder.
// It is its owner's alone, whatever the umask, and whatever was left at its name
// or put there by another.
func Begin(path, beside string) (*File, error) {
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	file := &File{f, path}
	if err := f.Chmod(0o600); err != nil {
		file.Abort()
		return nil, err
	}
	return file, nil
}

// Commit gives the file its name, durably. After an error the file of that name
// is as it was, or as it is now.
func (f *File) Commit() error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = Publish(f.Name(), f.path, true)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Publish gives the file beside, which is on the disk already, the name path,
// durably. At every moment there is what was there before, or all of the new
// one. It returns fs.ErrExist if there is a file, and replace is not set.
func Publish(beside, path string, replace bool) error {
	give := os.Rename
	if !replace {
		give = name
	}
	if err := give(beside, path); err != nil {
		return err
	}
	return dirsync.Sync(filepath.Dir(path))
}

// name renames a file. Unlike os.Rename it fails if the name is taken, where the
// file system has links.
func name(beside, path string) error {
	err := os.Link(beside, path)
	switch {
	case err == nil:
		return os.Remove(beside)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return os.Rename(beside, path)
}

// Abort removes the file.
func (f *File) Abort() {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// mostLinks is how many links may lead to a file, as on Linux.
const mostLinks = 40

// Resolve follows the links at path. special reports whether the file there must be
// written to and not replaced: it is no regular file, or is one that another process
// holds open for us, as /dev/stdout is.
func Resolve(path string) (at string, special bool, err error) {
	named := path
	for range mostLinks {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, false, nil
		}
		if err != nil {
			return "", false, err
		}
		if info.Mode().IsRegular() {
			return path, false, nil
		}
		if info.IsDir() {
			return "", false, &fs.PathError{Op: "write", Path: named, Err: errors.New("it is a directory")}
		}
		if err := planted(path, info); err != nil {
			return "", false, err
		}
		if info.Mode()&fs.ModeSymlink == 0 || strings.HasPrefix(path, "/proc/") {
			return path, true, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", false, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", false, &fs.PathError{Op: "write", Path: named, Err: fmt.Errorf("more than %d links", mostLinks)}
}

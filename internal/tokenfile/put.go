package tokenfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"collect/internal/atomicfile"
	"collect/internal/dirsync"
)

// Put makes token the one in the file at path, which is its owner's alone, as is a
// folder that has to be made for it. It waits for who replaces the token that is
// there. Errors are those of [Replace]; after one, the file is as it was.
func Put(ctx context.Context, path, token string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &Error{Path: path, Err: err}
	}
	return alone(ctx, path, func(path string) error {
		if err := atomicfile.Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, token+"\n")
			return err
		}); err != nil {
			return &Error{Path: path, Err: err}
		}
		return nil
	})
}

// Remove removes the file at path, durably. It reports whether there was one.
func Remove(ctx context.Context, path string) (there bool, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = alone(ctx, path, func(path string) error {
		if err := errors.Join(os.Remove(path), dirsync.Sync(filepath.Dir(path))); err != nil {
			return &Error{Path: path, Err: err}
		}
		return nil
	})
	return err == nil, err
}

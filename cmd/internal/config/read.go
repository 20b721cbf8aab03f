package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IsFile reports whether arg is the path of a connector file, rather than a
// name.
func IsFile(arg string) bool {
	ext := filepath.Ext(arg)
	return strings.ContainsRune(arg, filepath.Separator) || ext == ".yaml" || ext == ".yml"
}

// reason is the innermost cause of an error of the file system.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// ReadAtMost is [os.ReadFile] for files of people, which are small: a path may
// lead to a device that has no end. Its error is a *[fs.PathError].
func ReadAtMost(path string, limit int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is larger than %d KiB", limit>>10)}
	}
	return data, err
}

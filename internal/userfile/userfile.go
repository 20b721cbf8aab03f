// Package userfile reads files that people write, and says whose they are.
package userfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

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

// Expand returns path with a leading ~ replaced by the user's home.
func Expand(path string, env func(string) string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && env("HOME") != "" {
		return filepath.Join(env("HOME"), rest)
	}
	return path
}

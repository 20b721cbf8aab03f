// Package userfile reads files that people write, and says whose they are.
package userfile

import (
	"context"
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

// Await returns what read returns, or why ctx ended before it. What people provide may
// never come: nobody writes into a pipe, unlocks a keyring, or answers a question. Then
// what reads is left behind, in a process that is about to end.
func Await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

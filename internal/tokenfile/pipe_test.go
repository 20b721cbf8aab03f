//go:build unix

package tokenfile_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"collect/internal/tokenfile"
)

// TestPipe: a token cannot be kept in a pipe, and nobody waits for one to write
// to it, with the lock in hand.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- tokenfile.Replace(t.Context(), path, func(string) (string, error) { return "next", nil })
	}()
	select {
	case err := <-done:
		if _, ok := errors.AsType[*tokenfile.Error](err); !ok {
			t.Errorf("%v, want an error that names the file", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for ever")
	}
}

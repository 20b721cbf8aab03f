package share

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"collect/internal/atomicfile"
)

// lockFile returns where the lock of an account is.
func lockFile(dir, account string) string { return filepath.Join(dir, account+".lock") }

// stateFile returns where the state is that belongs to a lock.
func stateFile(lock string) string { return strings.TrimSuffix(lock, ".lock") + ".json" }

// readState returns the state that belongs to a lock; nil if none was saved.
func readState(lock string) ([]byte, error) {
	state, err := os.ReadFile(stateFile(lock))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return state, err
}

// replace makes data the content of the file at path: after a crash it has
// either the old one or the new one.
func replace(path string, data []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"collect/collection"
	"collect/store"
	"collect/store/sqlite"
)

// TestDiskFull fills a real file system.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	path := filepath.Join(dir, "state.db")
	s := open(t, path, sqlite.Options{Create: true})
	defer s.Close()
	ballast := filepath.Join(dir, "ballast")
	fillUp(t, s, path, func() {
		if err := os.WriteFile(ballast, make([]byte, 512<<10), 0o600); err != nil {
			t.Fatal(err)
		}
	}, func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	})
}

// TestBackupOntoFullDisk: what does not fit is said to be too much, and leaves
// nothing behind; what fits is a backup, however little room is left.
func TestBackupOntoFullDisk(t *testing.T) {
	path := fixture(t, sqlite.Newest())
	s := open(t, path, sqlite.Options{ReadOnly: true})
	defer s.Close()
	need := fileSize(t, path)
	for _, c := range []struct {
		room int64
		want error
	}{{need / 2, collection.ErrFull}, {need + 12<<10, nil}} {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", c.room)); err != nil {
			t.Skipf("cannot mount a small file system: %v", err)
		}
		defer syscall.Unmount(dir, syscall.MNT_DETACH)
		to := filepath.Join(dir, "backup.db")
		if err := s.Backup(t.Context(), to, false); !errors.Is(err, c.want) {
			t.Errorf("with room for %d of %d bytes: %v, want %v", c.room, need, err, c.want)
		}
		if c.want == nil {
			checkFiles(t, to, "backup.db")
		} else {
			checkFiles(t, to)
		}
	}
}

// TestReadOnlyFileSystem wants to write where no one can.
func TestReadOnlyFileSystem(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	path := filepath.Join(dir, "state.db")
	copyFile(t, made(t), path)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=2m"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, filepath.Join(dir, "new.db"), filepath.Join(dir, "a", "new.db")} {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
		if err == nil {
			_, err = s.Begin(t.Context(), newRun("acme", "run-2"), streams)
			defer s.Close()
		}
		if !errors.Is(err, store.ErrNoAccess) {
			t.Errorf("%s: error = %v, want %v", path, err, store.ErrNoAccess)
		}
	}
}

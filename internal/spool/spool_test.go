//go:build unix

package spool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"collect/internal/spool"
)

// TestFolderIsTheOwners: what is written beside the database is read by its owner alone,
// whatever the umask, and is gone when it was read, or when the next run begins.
func TestFolderIsTheOwners(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	root := filepath.Join(t.TempDir(), "state.db-spool")
	folder := spool.Folder{Dir: filepath.Join(root, "acme")}
	var files []*spool.File
	for range 2 {
		file, err := folder.New()
		if err == nil {
			_, err = file.Write([]byte("a record"))
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for path, want := range map[string]fs.FileMode{root: 0o700, folder.Dir: 0o700, files[0].Name(): 0o600, files[1].Name(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode().Perm(), err, want)
		}
	}
	if err := files[0].Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(files[0].Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was read is still there: %v", err)
	}
	if err := folder.Clear(); err != nil { // the other one is of a run that was killed
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a killed run left is still there: %v", err)
	}
}

//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// planted refuses a link, a pipe or the like that another user put into a
// directory that all users share, as Linux does where it is set up to
// (fs.protected_symlinks, fs.protected_fifos): it would have us write where that
// user wants.
func planted(path string, info fs.FileInfo) error {
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	const shared = fs.ModeSticky | 0o002
	if dir.Mode()&shared != shared {
		return nil
	}
	is, ok1 := info.Sys().(*syscall.Stat_t)
	in, ok2 := dir.Sys().(*syscall.Stat_t)
	if ok1 && ok2 && (int(is.Uid) == os.Geteuid() || is.Uid == in.Uid) {
		return nil
	}
	return &fs.PathError{Op: "write", Path: path, Err: errors.New("another user put it into a directory that all users share")}
}

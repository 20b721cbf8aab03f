// Package dirsync makes the names in a directory survive a power cut. The sync of a
// file flushes its content, and not its name in the directory.
package dirsync

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// Sync flushes the names in dir, where the system and the file system have a
// call for it.
func Sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call, and needs none
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // it may be written and not read: then the kernel decides
	}
	if err != nil {
		return err
	}
	defer d.Close() // it was only read
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil // this file system has no such call
}

//go:build unix

package live

import (
	"fmt"
	"os"
	"syscall"
)

// identity returns the device and the inode of a file, as JOURNAL_STREAM has them.
func identity(file *os.File) string {
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

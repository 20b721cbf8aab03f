//go:build unix

package userfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Distrust says why the content of the file at path may be another user's wish; "" if only this user or root can have written it. A link counts as much
// as what it leads to.
//
// A file that its group may write is ours if the group is this user's alone,
// which is usual with a umask of 002: it then has the number of the user.
func Distrust(path string) string {
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(path)
		if err != nil {
			return "" // the next read reports the error
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		link := info.Mode()&fs.ModeSymlink != 0 // its own mode means nothing
		switch mode := info.Mode().Perm(); {
		case !ok:
			return "its owner is not known"
		case stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
			return fmt.Sprintf("it belongs to another user (uid %d)", stat.Uid)
		case !link && mode&0o002 != 0:
			return "every user can write to it"
		case !link && mode&0o020 != 0 && (int(stat.Gid) != os.Getegid() || int(stat.Gid) != os.Geteuid()):
			return fmt.Sprintf("a group can write to it (gid %d)", stat.Gid)
		}
	}
	return ""
}

// OwnerOf returns the user that a file belongs to.
func OwnerOf(info fs.FileInfo) uint32 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Uid
}

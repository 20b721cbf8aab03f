//go:build unix

// Package freespace asks how much may still be written to a disk.
package freespace

import "golang.org/x/sys/unix"

// Of returns how many bytes this user may still write to the disk of
// dir.
func Of(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

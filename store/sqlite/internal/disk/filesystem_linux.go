package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// RefuseNetwork returns an error if dir is on a file system where neither
// locks nor shared memory reach the other machines that may write there.
func RefuseNetwork(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return NoAccess(dir, err)
	}
	name := networkName(int64(st.Type))
	if int64(st.Type) == unix.FUSE_SUPER_MAGIC {
		if mounts, err := os.Open("/proc/self/mountinfo"); err == nil {
			defer mounts.Close() // it was only read
			name = fuseNetworkName(dir, mounts)
		}
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("store: %s is on %s, a network file system, where SQLite can lose data: use a local disk", dir, name)
}

// networkName names the network file system with a magic number (statfs(2)),
// or returns "".
func networkName(magic int64) string {
	switch uint32(magic) { // the field is signed on some architectures
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB"
	}
	return ""
}

// fuseNetworkName names the network file system behind FUSE that holds dir,
// if the mount table tells, or returns "".
func fuseNetworkName(dir string, mounts io.Reader) string {
	best, name := "", ""
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		if point, fs, ok := parseMount(lines.Text()); ok && within(dir, point) && len(point) >= len(best) {
			best, name = point, fs
		}
	}
	switch name {
	case "fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.glusterfs", "fuse.davfs2":
		return strings.TrimPrefix(name, "fuse.")
	}
	return ""
}

// parseMount returns the mount point and the file system type of a line of
// mountinfo (proc(5)): 36 35 98:0 / /mnt rw shared:1 - fuse.sshfs host:/ rw
func parseMount(line string) (point, fs string, ok bool) {
	before, after, ok := strings.Cut(line, " - ")
	fields, rest := strings.Fields(before), strings.Fields(after)
	if !ok || len(fields) < 5 || len(rest) < 1 {
		return "", "", false
	}
	point = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
	return point, rest[0], true
}

// within reports whether dir is point or below it.
func within(dir, point string) bool {
	rel, err := filepath.Rel(point, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// CanWrite reports whether this process may write the file at path. It must
// not open it: closing any descriptor of a file ends all POSIX locks that the
// process has on it, those of SQLite too.
func CanWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// isOpen reports whether another process has the database at path open: SQLite
// then holds a shared lock (https://sqlite.org/src/file/src/os.h, SHARED_FIRST).
// It must not be called while a store of this process is open there.
func isOpen(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // the next open says why
	}
	defer f.Close() // it was only looked at
	const sharedFirst, sharedSize = 0x40000000 + 2, 510
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: sharedFirst, Len: sharedSize}
	err = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock)
	return err == nil && lock.Type != unix.F_UNLCK
}

// NoSpace reports whether the file system of path has no room for a page of
// the database and one of its shared memory, or no more quota.
func NoSpace(path string) bool {
	const room = 64 << 10 // the shared memory grows by 32 KiB
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return errors.Is(err, unix.ENOSPC)
	}
	return st.Bavail*uint64(st.Bsize) < room
}

package share

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// The socket of a leader is beside its lock: there everybody finds it who finds
// the lock, whatever temporary folder he has. The lock file has its name, and
// each leader another one: one that was deposed does not take it away. Where
// there can be no socket, it is in a folder of its own among the temporary ones,
// and the lock file has its path.
const (
	socketSuffix = ".sock"
	socketPrefix = "collect-" // of the name of such a folder

	// longestSocket is the longest path of a socket: 104 bytes on macOS, with the
	// zero at its end, and 108 on Linux.
	longestSocket = 103
)

// socketOf returns the path of the socket that a lock file names.
func socketOf(lock, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(lock), name)
}

// listen opens a socket for the leader of a lock, and returns its name.
func listen(lock string) (l net.Listener, name string, err error) {
	name = fmt.Sprintf("%s.%08x%s", strings.TrimSuffix(filepath.Base(lock), ".lock"), rand.Uint32(), socketSuffix)
	err = reach(socketOf(lock, name), func(path string) (err error) {
		l, err = net.Listen("unix", path)
		return err
	})
	if err != nil {
		dir, err := os.MkdirTemp("", socketPrefix) // no other user can look inside
		if err != nil {
			return nil, "", err
		}
		name = filepath.Join(dir, "pace")
		if l, err = net.Listen("unix", name); err != nil {
			return nil, "", err
		}
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // it may know another path than ours
	}
	return l, name, os.Chmod(socketOf(lock, name), 0o600) // whatever the umask
}

// dial connects to the leader whose lock is at path.
func dial(path string) (conn net.Conn, err error) {
	name, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	err = reach(socketOf(path, string(name)), func(socket string) (err error) {
		conn, err = net.DialTimeout("unix", socket, beatLonger)
		return err
	})
	return conn, err
}

// reach calls do with the path of a socket, or with a short one to the same
// place if it is too long and the system has one.
func reach(socket string, do func(path string) error) error {
	if len(socket) <= longestSocket {
		return do(socket)
	}
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket)))
}

// removeSocket removes the socket at path, and a folder that is its own. Neither
// is missed.
func removeSocket(path string) {
	dir := filepath.Dir(path)
	own := strings.HasPrefix(filepath.Base(dir), socketPrefix)
	if own || strings.HasSuffix(path, socketSuffix) {
		_ = os.Remove(path)
	}
	if own {
		_ = os.Remove(dir)
	}
}

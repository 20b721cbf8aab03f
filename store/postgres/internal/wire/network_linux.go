package wire

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// unacknowledged bounds how long what was sent may stay without an acknowledgement.
func unacknowledged(network, _ string, c syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	if failed := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(goneAfter.Milliseconds()))
	}); failed != nil {
		return failed
	}
	return err
}

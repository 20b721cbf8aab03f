package engine

import (
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"collect/collection"
)

// crockford is the alphabet of Douglas Crockford's base 32: no letter looks
// like a digit.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newRunID returns an id that sorts by time: 10 characters of milliseconds and
// 6 of chance, as the first 16 of a ULID.
func newRunID(now time.Time) string {
	id := make([]byte, 16)
	ms := now.UnixMilli()
	for i := 9; i >= 0; i-- {
		id[i] = crockford[ms&31]
		ms >>= 5
	}
	rand.Read(id[10:])
	for i := 10; i < len(id); i++ {
		id[i] = crockford[id[i]&31]
	}
	return string(id)
}

// ThisProcess names the process that runs.
func ThisProcess() collection.Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return collection.Holder{Host: host, PID: os.Getpid()}
}

// Died reports whether a run that is not over has no process any more, as far
// as this host can tell.
func Died(run collection.Run) bool {
	here := ThisProcess()
	if run.Outcome != collection.Running || run.Holder.Host != here.Host {
		return false
	}
	process, err := os.FindProcess(run.Holder.PID)
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// IsRunID reports whether text has the form of the id of a run.
func IsRunID(text string) bool {
	return len(text) == 16 && strings.Trim(text, crockford) == ""
}

// Package process names the process that runs, and says of another one whether
// it is still there.
package process

import (
	"errors"
	"os"
	"syscall"

	"collect/collection"
)

// This names the process that runs.
func This() collection.Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return collection.Holder{Host: host, PID: os.Getpid()}
}

// Died reports whether a run that is not over has no process any more, as far
// as this host can tell.
func Died(run collection.Run) bool {
	here := This()
	if run.Outcome != collection.Running || run.Holder.Host != here.Host {
		return false
	}
	process, err := os.FindProcess(run.Holder.PID)
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

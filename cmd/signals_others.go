//go:build unix && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package cmd

import (
	"os"
	"syscall"
)

// questions are the signals that ask a run how it stands.
var questions = []os.Signal{syscall.SIGUSR1}

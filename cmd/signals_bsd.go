//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package cmd

import (
	"os"
	"syscall"
)

// questions are the signals that ask a run how it stands: SIGINFO is what Ctrl-T sends.
var questions = []os.Signal{syscall.SIGUSR1, syscall.SIGINFO}

//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// EndWhole makes the end of a command's context end all of its processes. With a
// terminal they stay in our group, which Ctrl-C ends as a whole: in another one
// they could not ask there for a passphrase.
func EndWhole(command *exec.Cmd) {
	if terminal, err := os.Open("/dev/tty"); err == nil {
		_ = terminal.Close()
		return
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}

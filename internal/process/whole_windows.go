package process

import "os/exec"

// EndWhole leaves a command as it is: its first process ends with its context,
// and the wait for the others ends, too.
func EndWhole(*exec.Cmd) {}

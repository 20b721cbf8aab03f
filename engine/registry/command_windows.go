package registry

import "os/exec"

// endWhole leaves a command as it is: its first process ends with its context,
// and the wait for the others ends, too.
func endWhole(*exec.Cmd) {}

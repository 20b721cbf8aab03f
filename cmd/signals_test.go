package cmd

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestASignalThatComesTwiceAtOnceIsOne: one that is sent to a process and to its group
// ends a command gently, and a second one at once.
func TestASignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var i interrupts
		i.gentle(func(os.Signal) {}, nil)
		came := func(sig os.Signal) string {
			switch gently, _, again := i.come(sig); {
			case again:
				return "again"
			case gently != nil:
				return "gently"
			}
			return "at once"
		}
		expect := func(sig os.Signal, want string) {
			t.Helper()
			if got := came(sig); got != want {
				t.Errorf("%v ends the command %s, want %s", sig, got, want)
			}
		}
		expect(syscall.SIGTERM, "gently")
		time.Sleep(5 * time.Millisecond)
		expect(syscall.SIGTERM, "again")
		expect(os.Interrupt, "at once")
		time.Sleep(100 * time.Millisecond)
		expect(syscall.SIGTERM, "at once")
	})
}

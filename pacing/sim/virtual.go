package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// Virtual calls f in virtual time: while all its goroutines wait, the clock
// jumps to the next thing that one of them waits for, so that an hour passes
// in a second. f must end what it starts. A panic of f is returned as an error.
//
// The standard library offers virtual time to tests alone, and the client to
// be watched is the real one, with the standard library's clock: so this is the
// one place of the product that makes a test. docs/decisions/0007 weighs it.
func Virtual(f func()) (err error) {
	synctest.Test(new(testing.T), func(*testing.T) {
		defer func() {
			if value := recover(); value != nil {
				err = fmt.Errorf("in virtual time: %v", value)
			}
		}()
		f()
	})
	return err
}

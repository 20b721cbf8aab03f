package share

import (
	"os"

	"collect/collection"
	"collect/pacing/gate"
)

// Config describes the account that is shared. Each field is needed, unless its
// comment says what holds without it.
type Config struct {
	Dir     string // where the accounts of this user are; made if need be
	Account string // names the account, and is part of file names
	Known   []byte // a state from elsewhere; the newer of it and the file counts. nil: none

	// Open returns a gate that continues with state, which may be nil or
	// unreadable.
	Open func(state []byte) (*gate.Gate, error)

	// Ceilings and Concurrency are what this process allows. As long as it
	// takes part, the ceilings hold for all, and as many requests of its own may
	// be in flight: see [gate.Gate.Share].
	Ceilings    []collection.Ceiling
	Concurrency int

	// Obeyed is told of an operator's order that all obey already, with the
	// events that belong to it, so that it can be recorded. It may be called
	// until the process has left, and at any time. nil: it is not recorded.
	Obeyed func(events []collection.Event)
}

// pid returns what others know this process by; 0 if it takes no part.
func (c Config) pid() int {
	if c.Open == nil {
		return 0
	}
	return os.Getpid()
}

package share

import (
	"os"

	"collect/collection"
	"collect/pacing/gate"
)

// Config describes the account that is shared. Each field is needed, unless its
// comment says what holds without it.
type Config struct {
	At
	Known []byte // a state from elsewhere; the newer of it and the file counts. nil: none

	// Host names this machine to the others.
	Host string

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

	// Away is told that the directory does not answer, so that nothing leaves, and
	// then, with nil, that the pace is shared again. It must not call the desk. nil:
	// nobody is told.
	Away func(err error)
}

// holder returns what others know this process by; zero if it takes no part.
func (c Config) holder() collection.Holder {
	if c.Open == nil {
		return collection.Holder{}
	}
	return collection.Holder{Host: c.Host, PID: os.Getpid()}
}

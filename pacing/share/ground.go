package share

import (
	"context"
	"errors"
	"net"
	"time"
)

// At says which account is shared, and where.
type At struct {
	Dir     string // where the accounts of this user are on this host; made if need be
	Account string // names the account, and is part of file names

	// Directory, if it is not nil, is where the processes of several machines
	// meet, and Dir means nothing.
	Directory Directory
}

// ground returns where the processes of the account meet.
func (a At) ground() ground {
	if a.Directory != nil {
		return &machines{directory: a.Directory, account: a.Account}
	}
	return &folder{path: lockFile(a.Dir, a.Account)}
}

// A ground is where the processes that share an account find each other. It is
// used by one goroutine.
type ground interface {
	// exists reports whether processes can ever have met here. make makes it so.
	exists() bool
	make() error

	claim(ctx context.Context) (claim, error) // errTaken: another process leads
	dial(ctx context.Context) (net.Conn, error)

	// depose takes the lead away from a process that does not answer, if it is
	// the one that had it at the last claim.
	depose(ctx context.Context) error

	clock() *clock            // of this process here; nil: the one of the host
	lookEvery() time.Duration // for a leader that has begun to lead
}

// A claim is the right to lead.
type claim interface {
	current() bool                 // no other process leads
	state() ([]byte, error)        // what the last leader saved; nil: nothing
	save(state []byte) error       // durably; errGone: it may be that another process leads
	killed() bool                  // the leader before did not end by itself
	listen() (net.Listener, error) // for guests
	end() error                    // the next may lead
}

// Why the lead cannot be had.
var (
	errTaken = errors.New("another process leads")
	errAway  = errors.New("the place where the pace is shared does not answer")
)

package wire

import (
	"database/sql/driver"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// An Error is one of the server, or of the connection to it.
type Error struct {
	Code       string // SQLSTATE; "" if it is of the connection
	Fatal      bool   // the connection is of no use any more
	Connecting bool   // there was none yet
	Err        error
}

// Error says what the server said. A connection is tried at each address of a host, with TLS and
// without: the words of the server say more than those of all attempts, and each reason is told once.
func (e *Error) Error() string {
	connect, connecting := errors.AsType[*pgconn.ConnectError](e.Err)
	if !connecting {
		return e.Err.Error()
	}
	if said, is := errors.AsType[*pgconn.PgError](e.Err); is {
		return said.Error()
	}
	return strings.Join(reasons(connect.Unwrap()), "; ")
}

func (e *Error) Unwrap() error { return e.Err }

// Told marks an error of the driver, or of pgx.
func Told(err error) error {
	if err == nil || err == driver.ErrBadConn {
		return err // database/sql knows it by its value
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	said, is := errors.AsType[*pgconn.PgError](err)
	if !is {
		return &Error{"", true, connecting, err}
	}
	return &Error{said.Code, said.Severity == "FATAL" || said.Severity == "PANIC", connecting, err}
}

// reasons returns the distinct reasons of attempts to connect, in their order.
func reasons(err error) (all []string) {
	many, joined := err.(interface{ Unwrap() []error })
	if !joined {
		many, joined = errors.Unwrap(err).(interface{ Unwrap() []error }) // of a name that could not be resolved
	}
	if !joined {
		return []string{reason(err)}
	}
	for _, one := range many.Unwrap() {
		for _, said := range reasons(one) {
			if !slices.Contains(all, said) {
				all = append(all, said)
			}
		}
	}
	return all
}

// reason returns why one attempt failed, with its address once.
func reason(err error) string {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && dial.Addr != nil {
		return dial.Addr.String() + ": " + dial.Err.Error()
	}
	return err.Error()
}

package server

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"collect/collection"
	"collect/store"
	"collect/store/postgres/internal/wire"
)

// told tells what errors are about.
type told struct{ name string }

// Classify is [Classify] for the store.
func (t told) Classify(err error) error { return Classify(t.name, err) }

// Own reports whether the server, or the connection to it, made an error.
func (told) Own(err error) bool {
	_, own := errors.AsType[*wire.Error](err)
	return own || gone(err)
}

// gone reports whether database/sql says that there is no connection any more.
func gone(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// lost reports whether an error says that the connection is of no use any more.
func lost(err error) bool {
	own, is := errors.AsType[*wire.Error](err)
	if !is {
		return gone(err)
	}
	return own.Fatal
}

// kinds are the errors of the port by the class, or the code, of an error of the
// server: Appendix A of the manual of PostgreSQL 15.
var kinds = map[string]error{
	"53100": collection.ErrFull,   // disk_full
	"53200": store.ErrUnreachable, // out_of_memory
	"53300": store.ErrUnreachable, // too_many_connections
	"08":    store.ErrUnreachable,
	"57P":   store.ErrUnreachable, // it shuts down, or starts
	"25P03": store.ErrUnreachable, // it ended a transaction that was idle for too long
	"28":    store.ErrNoAccess,    // who connects
	"42501": store.ErrNoAccess,    // insufficient_privilege
	"42704": store.ErrNoAccess,    // a parameter in the address that the server does not know
	"25006": store.ErrNoAccess,    // read_only_sql_transaction: it is a standby
	"3D000": store.ErrMissing,     // the database
	"55P03": store.ErrLocked,      // lock_not_available
	"40":    store.ErrLocked,      // others had to go first
	"58":    store.ErrDisk,
	"XX":    store.ErrDamaged, // data_corrupted, index_corrupted, internal_error
}

// errPooled is what is said of a pooler between, by whatever it was noticed.
func errPooled(name string) error {
	return fmt.Errorf("store %s %w: it is behind PgBouncer, which collect cannot use: name the server itself", name, store.ErrNoAccess)
}

// Classify puts an error of the server, or of the connection to it, into the words of
// the port. Every other error is returned as it is.
func Classify(name string, err error) error {
	own, is := errors.AsType[*wire.Error](err)
	if !is {
		if gone(err) {
			return fmt.Errorf("store %s %w: the connection was ended", name, store.ErrUnreachable)
		}
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnreachable) && !own.Connecting {
		return err
	}
	if own.Code == "" {
		return fmt.Errorf("store %s %w: %w", name, store.ErrUnreachable, err)
	}
	if strings.Contains(own.Error(), "unsupported startup parameter") || own.Code == "42P05" || own.Code == "26000" { // prepared by another, or not there
		return fmt.Errorf("%w: %w", errPooled(name), err)
	}
	for _, code := range []string{own.Code, own.Code[:min(3, len(own.Code))], own.Code[:min(2, len(own.Code))]} {
		switch kind := kinds[code]; {
		case kind == nil:
		case errors.Is(kind, collection.ErrFull):
			return fmt.Errorf("%w: %w", kind, err)
		case errors.Is(kind, store.ErrDamaged):
			return fmt.Errorf("store %s: %w: %w", name, kind, err)
		default:
			return fmt.Errorf("store %s %w: %w", name, kind, err)
		}
	}
	return err
}

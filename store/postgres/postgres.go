// Package postgres keeps everything that collect remembers in a schema of a Postgres
// database, for one machine or for several.
//
// # The tables
//
// They are those of the SQLite store, in a schema named collect, or as search_path in
// the address says. Each stream has a view, named connector_stream, with the fields of
// its records as columns.
//
// # Who writes
//
// Runs of different connectors write at the same time: each locks the row of its lease
// first. An order of a person waits until it is the only one that writes, by an advisory
// lock that ends with the transaction. A commit that was acknowledged is on the server's disk:
// synchronous_commit is on, whatever the server is configured to.
//
// # The lease
//
// A connector is run by one process at a time. Its session has an advisory lock, which
// the server frees when the session ends, so that a run whose process died is succeeded
// at once. Where the server does not notice that, since the whole machine is gone, the lease ends
// 30 seconds after its last renewal by the clock of the server: each write of a run, and each beat,
// renews it. Neither is what data rests on: each write compares the epoch of the lease
// in its own transaction, so that a run which lost its lease writes nothing.
package postgres

import (
	"context"

	"collect/pacing/share"
	"collect/store"
	"collect/store/internal/ledger"
	"collect/store/postgres/internal/meeting"
	"collect/store/postgres/internal/server"
)

// Options says how a store is opened. The zero value opens an existing one
// for reading and writing.
type Options struct {
	// Create makes the schema if there is none. Without it that is store.ErrMissing.
	Create bool

	// ReadOnly opens the store to look at it. Create has no effect then.
	ReadOnly bool
}

// A Store is a store.Store in a Postgres database. It is safe for concurrent use.
type Store struct {
	*ledger.Store
	db      *server.DB
	locks   locks
	meeting *meeting.Meeting
}

var _ store.Store = (*Store)(nil)

// Open opens the store at an address postgres://user@host:port/database, and brings its
// schema up to date. What the address leaves out is taken from where libpq has it:
// PGHOST and the like, the password file, and the service file.
//
// It returns store.ErrUnreachable if the server does not answer, store.ErrNoAccess if it
// refuses or may not be written to, store.ErrMissing if there is no such database or
// schema, store.ErrNotDatabase if the schema belongs to another program, and
// store.ErrNewer if a newer version made it. No error has the password.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	at, err := server.Parse(address)
	if err != nil {
		return nil, err
	}
	var db *server.DB
	if o.ReadOnly {
		db, err = server.Look(ctx, at)
	} else {
		db, err = server.Open(ctx, at, o.Create)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, locks: locks{db: db}, meeting: meeting.New(at)}
	s.Store = ledger.New(db.Readers, db.Writer, &s.locks)
	return s, nil
}

// Check returns an error, which shows nothing of the address, if it cannot be read, or if
// it has a password: what Open is given is shown in messages and in lists of processes.
func Check(address string) error { return server.Check(address) }

// Parts returns an address for people and for the tools of Postgres, without what is
// secret in it, and the schema of the store there.
func Parts(address string) (name, schema string, err error) {
	at, err := server.Parse(address)
	return at.Name, at.Schema, err
}

// Close closes the store. Ledgers that are not finished are left as after a crash:
// the next Begin finds them abandoned.
func (s *Store) Close() error {
	s.meeting.Close()
	return s.db.Close()
}

// Beside reads one value of what is kept beside the store, in its schema, on a connection
// that cannot write.
func (s *Store) Beside(ctx context.Context, into any, query string, args ...any) error {
	_, err := s.db.One(ctx, []any{into}, query, args...)
	return err
}

// Meeting returns where the runs of all machines that use the store share the pace of
// an account. It has connections of its own from when it is first asked, and ends with the
// store.
func (s *Store) Meeting() share.Directory { return s.meeting }

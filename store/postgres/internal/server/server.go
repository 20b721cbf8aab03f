// Package server connects to a Postgres server with the settings that durability
// rests on, brings the schema of a store up to date, and tells errors of the server in
// the words of package store.
package server

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"collect/internal/similar"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/internal/schema"
	"collect/store/postgres/internal/wire"
)

// Settings of every connection, but where the address says otherwise.
const (
	// defaultSchema is the schema that has the tables, so that those of other
	// programs are in nobody's way.
	defaultSchema = "collect"

	// idleInTransaction ends the transaction of a process that was stopped in the
	// middle of it, and that keeps all others from writing.
	idleInTransaction = 30 * time.Second

	// PoolSize is the number of connections that read at once.
	PoolSize = 4
)

// An Address says where a store is. It has a password, and is never shown.
type Address struct {
	config wire.Config
	Schema string
	Name   string // the same for people, without what is secret
}

// errAddress does not tell what is wrong: the text may have a password in it.
var errAddress = errors.New("the address of the database server cannot be read: it is written postgres://USER@HOST:PORT/DATABASE")

// errPassword: an address is in command lines, units and messages, where all may read it.
var errPassword = errors.New("the address of the database server has a password, which others could read there: write it without one, and put the password into PGPASSWORD or ~/.pgpass")

// Check returns an error, which shows nothing of the address, if it cannot be read or
// has a password.
func Check(address string) error {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return errAddress // libpq would read it as a list of settings
	}
	if _, err := wire.Parse(address); err != nil {
		return errAddress
	}
	u, err := url.Parse(address)
	if err != nil {
		return errAddress
	}
	_, has := u.User.Password()
	names := slices.Sorted(maps.Keys(u.Query()))
	for _, name := range names {
		has = has || strings.HasSuffix(name, "password") // also sslpassword
	}
	if has {
		return errPassword
	}
	for _, name := range names {
		if !slices.Contains(parameters, name) {
			if meant := similar.To(name, parameters); meant != "" {
				return fmt.Errorf("the address of the database server has the parameter %q: is it meant to be %s?", name, meant)
			}
		}
	}
	switch schema := u.Query().Get("search_path"); {
	case strings.Contains(schema, ","):
		return errors.New("search_path names one schema in the address of a store, and has a comma")
	case strings.HasPrefix(schema, "pg_"):
		return errors.New("search_path names a schema that begins with pg_, which the server keeps for itself")
	}
	return nil
}

// parameters are those of libpq, and those of the server that addresses mostly have. Another one
// that is not like any of them is one of the server, which says so if it knows none.
var parameters = []string{
	"application_name", "channel_binding", "client_encoding", "connect_timeout", "datestyle", "dbname", "fallback_application_name", "gssencmode", "gsslib",
	"host", "hostaddr", "idle_in_transaction_session_timeout", "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname",
	"load_balance_hosts", "lock_timeout", "options", "passfile", "port", "replication", "require_auth", "requirepeer", "search_path", "service", "servicefile",
	"ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert", "sslcompression", "sslcrl", "sslcrldir", "sslkey", "sslmode", "sslnegotiation",
	"sslrootcert", "sslsni", "statement_timeout", "target_session_attrs", "tcp_keepalives_count", "tcp_keepalives_idle", "tcp_keepalives_interval",
	"tcp_user_timeout", "timezone", "user", "work_mem",
}

// Parse reads an address of the form that libpq defines for URIs. What it leaves out is
// taken from the variables, the password file and the service file of libpq. A
// search_path names the schema of the store.
func Parse(address string) (a Address, err error) {
	c, err := wire.Parse(address)
	if err != nil {
		return a, errAddress
	}
	a = Address{config: c, Schema: cmp.Or(c.Get("search_path"), defaultSchema), Name: c.Shown()}
	c.Set("search_path", format.Identifier(a.Schema))
	c.Set("application_name", cmp.Or(c.Get("application_name"), "collect"))
	c.Set("idle_in_transaction_session_timeout", fmt.Sprint(idleInTransaction.Milliseconds()))
	return a, nil
}

// open returns a pool that has not connected yet.
func (a Address) open(parameters ...string) *sql.DB {
	return sql.OpenDB(a.config.Connector(parameters...))
}

// Number is the number of an advisory lock of this store; what says what it is for.
func (a Address) Number(what string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "collect %s %s", a.Schema, what)
	return int64(h.Sum64()) // #nosec G115 -- any number will do
}

// A DB is the connections to one store.
type DB struct {
	*database.Readers
	Address Address
	Writer  *database.Writer // nil: read-only
	Turns   *Turns           // of the writer
}

// Open connects to the store to write to it, and brings its schema up to date. If
// create is set it makes the schema.
func Open(ctx context.Context, a Address, create bool) (*DB, error) {
	if err := a.migrate(ctx, create); err != nil {
		return nil, Classify(a.Name, err)
	}
	// A setting that lets commits be lost is not for this store. A write has an index for all
	// it looks for; a server that has not counted the rows of a new table yet would read
	// all of it. Where it must read all of a table after all, it takes that for so much work that it
	// would compile each statement first, for a third of a second.
	pool := a.open("synchronous_commit", "on", "default_transaction_isolation", "read committed", "default_transaction_read_only", "off", "enable_seqscan", "off", "jit", "off")
	pool.SetMaxOpenConns(1)
	turns := &Turns{told: told{a.Name}, address: a}
	w, err := database.NewWriter(ctx, pool, turns, &dialect)
	if err != nil {
		return nil, Classify(a.Name, err)
	}
	turns.w = w
	return &DB{a.readers(), a, w, turns}, nil
}

// Look connects to the store to read it.
func Look(ctx context.Context, a Address) (*DB, error) {
	d := &DB{Readers: a.readers(), Address: a}
	if err := d.check(ctx); err != nil {
		return nil, errors.Join(Classify(a.Name, err), d.Close())
	}
	return d, nil
}

// readers returns the connections that read. A transaction of theirs sees one state
// of the database.
func (a Address) readers() *database.Readers {
	pool := a.open("default_transaction_read_only", "on", "default_transaction_isolation", "repeatable read")
	pool.SetMaxOpenConns(PoolSize)
	pool.SetMaxIdleConns(PoolSize)
	return database.NewReaders(a.Name, pool, told{a.Name}, &dialect)
}

// check returns an error if the schema is not of this version.
func (d *DB) check(ctx context.Context) error {
	have, err := d.Address.version(ctx, d.DB)
	newest := schema.Postgres.Newest()
	switch {
	case err != nil:
		return err
	case have == 0:
		return errNone(d.Address)
	case have > newest:
		return fmt.Errorf("the store was %w", store.ErrNewer)
	case have < newest:
		return fmt.Errorf("the store was %w", store.ErrOlder)
	}
	return nil
}

// Close closes all connections.
func (d *DB) Close() error {
	err := d.DB.Close()
	if d.Writer != nil {
		err = errors.Join(err, d.Writer.Close(func() error { return nil }))
	}
	return err
}

func errNone(a Address) error {
	return fmt.Errorf("store %s %w: the database has no schema %s", a.Name, store.ErrMissing, a.Schema)
}

// migrate makes the schema, if create is set, and brings it to the newest version.
// Processes that start at the same time take turns.
func (a Address) migrate(ctx context.Context, create bool) error {
	c := a.config.Connector("synchronous_commit", "on", "default_transaction_read_only", "off")
	c.Flags = true
	pool := sql.OpenDB(c)
	defer pool.Close() // what matters was committed
	have, err := a.version(ctx, pool)
	newest := schema.Postgres.Newest()
	if err != nil || have == newest {
		return err
	}
	if have > newest {
		return fmt.Errorf("the store was %w", store.ErrNewer)
	}
	if have == 0 && !create {
		return errNone(a)
	}
	turn, err := pool.Conn(ctx) // its end frees the lock
	if err != nil {
		return err
	}
	defer turn.Close()
	if _, err := turn.ExecContext(ctx, "SELECT pg_advisory_lock(?)", a.Number("schema")); err != nil {
		return err
	}
	defer turn.ExecContext(ctx, "SELECT pg_advisory_unlock(?)", a.Number("schema"))
	var there bool
	if err := turn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = ?)", a.Schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := turn.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+format.Identifier(a.Schema)); err != nil {
			return err
		}
	}
	return schema.Postgres.Apply(ctx, pool, func(database.Step) error { return nil })
}

// version returns the version of the schema, 0 if there is none. It returns
// store.ErrNotDatabase if the schema belongs to another program.
func (a Address) version(ctx context.Context, pool *sql.DB) (v int64, err error) {
	var encoding, path string
	var tables, known int64
	var begun bool
	err = pool.QueryRowContext(ctx, `SELECT current_setting('server_encoding'), current_setting('search_path'), count(*),
			count(*) FILTER (WHERE relname IN ('checkpoints', 'slices', 'leases')), coalesce(bool_or(relname = '`+schema.Table+`'), false)
		FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(?)::oid`, format.Identifier(a.Schema)).
		Scan(&encoding, &path, &tables, &known, &begun)
	switch {
	case err != nil:
		return 0, err
	case path != format.Identifier(a.Schema): // what we asked for was kept from the server
		return 0, errPooled(a.Name)
	case encoding != "UTF8":
		return 0, fmt.Errorf("store %s %w: the encoding of the database is %s, and must be UTF8", a.Name, store.ErrNotDatabase, encoding)
	case tables == 0, tables == 1 && begun: // killed inside its first start
		return 0, nil
	case known != 3 || !begun:
		return 0, fmt.Errorf("store %s %w: its schema %s belongs to another program", a.Name, store.ErrNotDatabase, a.Schema)
	}
	// With its schema, a table that is not for this user is refused; without, it is not found.
	err = pool.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+format.Identifier(a.Schema)+"."+schema.Table).Scan(&v)
	return v, err
}

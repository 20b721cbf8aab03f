// Package wire speaks to a Postgres server in the words that all stores have: as a
// driver of database/sql that translates statements on their way, and values both
// ways.
//
// Statements come with ? and ?1 for arguments, which are $1 on the wire, and with
// words by which SQLite is told how to go about a query, which Postgres decides
// itself. A flag is a number, since it is one in the tables.
//
// A text of Postgres has no NUL and is UTF-8, and what a provider sent may be neither.
// So the byte 0 is written as 1 1, the byte 1 as 1 2, and one that is not UTF-8
// as 1 3 and two hexadecimal digits. Texts without such bytes, which are nearly all, are
// written as they are, and all of them sort as before, those aside that are not UTF-8.
package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// A Config says where a server is. It has a password, and is never shown.
type Config struct{ of *pgx.ConnConfig }

// Parse reads an address in a form of libpq. The error may have a password in it.
func Parse(address string) (Config, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return Config{}, err
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
		if several(c) {
			c.ConnectTimeout = nextAfter
		}
	}
	listen(c)
	return Config{c}, nil
}

// connectTimeout is how long a server may take to answer at first, unless the address
// says so.
const connectTimeout = 10 * time.Second

// Set sets a parameter of the session.
func (c Config) Set(name, value string) {
	if name == readOnly && value == "on" && c.of.ValidateConnect != nil {
		c.of.AfterConnect = setReadOnly
		return
	}
	c.of.RuntimeParams[name] = value
}

// readOnly keeps a session from writing. Where an address names several servers, it must not be
// set before the one is found that can be written to: pgx asks for this very parameter.
const readOnly = "default_transaction_read_only"

func setReadOnly(ctx context.Context, session *pgconn.PgConn) error {
	return session.Exec(ctx, "SET "+readOnly+" = on").Close()
}

// Get returns a parameter of the session; "" if the address has none.
func (c Config) Get(name string) string { return c.of.RuntimeParams[name] }

// Shown returns the address for people, without what is secret.
func (c Config) Shown() string {
	shown := url.URL{Scheme: "postgres", User: url.User(c.of.User), Host: net.JoinHostPort(c.of.Host, fmt.Sprint(c.of.Port)), Path: "/" + c.of.Database}
	if strings.HasPrefix(c.of.Host, "/") { // a folder with a socket
		shown.Host, shown.RawQuery = "", "host="+c.of.Host
	}
	return shown.String()
}

// Copy returns a copy with more parameters, each a name and its value.
func (c Config) Copy(parameters ...string) Config {
	more := Config{c.of.Copy()}
	for i := 0; i < len(parameters); i += 2 {
		more.Set(parameters[i], parameters[i+1])
	}
	return more
}

// Connector returns a connector to the server with more parameters, as [Config.Copy]
// takes them.
func (c Config) Connector(parameters ...string) Connector {
	return Connector{of: stdlib.GetConnector(*c.Copy(parameters...).of)}
}

// A Connector makes connections of database/sql.
type Connector struct {
	of driver.Connector

	// Flags: a flag is one of Postgres, as in the table of goose.
	Flags bool
}

// Connect makes a connection.
func (c Connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.of.Connect(ctx)
	if err != nil {
		return nil, Told(err)
	}
	return conn{inner.(*stdlib.Conn), c.Flags, &pgx.Batch{}}, nil
}

// Driver returns the driver of pgx.
func (c Connector) Driver() driver.Driver { return c.of.Driver() }

// A conn is a connection to the server.
type conn struct {
	*stdlib.Conn
	flags bool
	later *pgx.Batch // statements that nobody waits for
}

// CheckNamedValue puts an argument into the form that the server is told; see
// [driver.NamedValueChecker].
func (c conn) CheckNamedValue(v *driver.NamedValue) error {
	switch value := v.Value.(type) {
	case nil, int64, []byte, []int64:
		return nil
	case string:
		v.Value = Encode(value)
	case bool:
		if !c.flags {
			v.Value = number(value)
		}
	case []string:
		for i, text := range value {
			value[i] = Encode(text)
		}
	default:
		of := reflect.ValueOf(value)
		switch of.Kind() {
		case reflect.String:
			v.Value = Encode(of.String())
		case reflect.Bool:
			v.Value = number(of.Bool())
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			v.Value = of.Int()
		default:
			return fmt.Errorf("an argument is a %T", value)
		}
	}
	return nil
}

func number(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func (c conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.tell(ctx); err != nil { // they may make what it names
		return nil, err
	}
	query = Translate(query)
	s, err := c.Conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, c.stale(err)
	}
	return stmt{s.(*stdlib.Stmt), c, query}, nil
}

func (c conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.tell(ctx); err != nil {
		return nil, err
	}
	done, err := c.Conn.ExecContext(ctx, Translate(query), args)
	return done, Told(err)
}

func (c conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.tell(ctx); err != nil {
		return nil, err
	}
	found, err := c.Conn.QueryContext(ctx, Translate(query), args)
	return c.rowsOf(found, err)
}

// BeginTx begins a transaction. One of readers sees one state of the database.
func (c conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, o)
	if err != nil {
		return nil, c.stale(err)
	}
	return tx, nil
}

// A stmt is a prepared statement.
type stmt struct {
	*stdlib.Stmt
	of    conn
	query string
}

func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if s.of.later.Len() > 0 {
		return s.of.execTogether(ctx, s.query, args)
	}
	done, err := s.Stmt.ExecContext(ctx, args)
	return done, Told(err)
}

func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if s.of.later.Len() > 0 {
		return s.of.queryTogether(ctx, s.query, args)
	}
	found, err := s.Stmt.QueryContext(ctx, args)
	return s.of.rowsOf(found, err)
}

// CheckNamedValue is that of the connection.
func (s stmt) CheckNamedValue(v *driver.NamedValue) error { return s.of.CheckNamedValue(v) }

func (c conn) rowsOf(found driver.Rows, err error) (driver.Rows, error) {
	if err != nil {
		return nil, c.stale(err)
	}
	return rows{found}, nil
}

// stale marks an error of a query that found its connection ended, as a server does that
// starts again: one of a pool then asks on another. The connection of a writer is
// no pool's, and does not.
func (c conn) stale(err error) error {
	if c.Conn.Conn().IsClosed() && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return driver.ErrBadConn
	}
	return Told(err)
}

// rows are the rows of a query.
type rows struct{ driver.Rows }

func (r rows) Next(dest []driver.Value) error {
	if err := r.Rows.Next(dest); err != nil {
		if err == io.EOF {
			return err
		}
		return Told(err)
	}
	for i, value := range dest {
		if text, ok := value.(string); ok {
			dest[i] = Decode(text)
		}
	}
	return nil
}

// Close ends the query, and tells the error that it ended with, which Next may not have
// come to.
func (r rows) Close() error { return Told(r.Rows.Close()) }

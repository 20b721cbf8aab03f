package server

import (
	"context"
	"database/sql"

	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/postgres/internal/wire"
)

// partial is what the name of the schema of a copy ends in until it is whole.
const partial = "_part"

// Partial returns the address of a copy that becomes the store at a.
func (a Address) Partial() Address {
	of := a
	of.Schema = dialect.Views.Name(a.Schema, partial)
	of.config = a.config.Copy("search_path", format.Identifier(of.Schema))
	return of
}

// Taken reports whether there is anything in the schema of the store.
func (a Address) Taken(ctx context.Context) (taken bool, err error) {
	pool := a.open()
	defer pool.Close() // it was only asked
	err = pool.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(?)::oid)`, format.Identifier(a.Schema)).Scan(&taken)
	return taken, Classify(a.Name, err)
}

// Drop removes the schema of a store with all that is in it.
func (a Address) Drop(ctx context.Context) error {
	pool := a.open("default_transaction_read_only", "off")
	defer pool.Close() // it has committed
	_, err := pool.ExecContext(ctx, `DROP SCHEMA IF EXISTS `+format.Identifier(a.Schema)+` CASCADE`)
	return Classify(a.Name, err)
}

// Rename gives the schema that t writes to the name that the store at to has, in place of an empty one, if
// there is one.
func (a Address) Rename(t database.Tx, to Address) error {
	var got any
	if err := t.Row(`SELECT pg_advisory_xact_lock(?)::text`, to.Number("schema")).Scan(&got); err != nil { // others may be making it
		return err
	}
	if err := t.Once(`DROP SCHEMA IF EXISTS ` + format.Identifier(to.Schema)); err != nil {
		return err
	}
	return t.Once(`ALTER SCHEMA ` + format.Identifier(a.Schema) + ` RENAME TO ` + format.Identifier(to.Schema))
}

// There asks whether there is a schema of the store.
func (a Address) There(t database.Tx) (there bool, err error) {
	err = t.Row(`SELECT to_regnamespace(?) IS NOT NULL`, format.Identifier(a.Schema)).Scan(&there)
	return there, err
}

// CopyIn stores rows in a table, in the transaction of the writer that is on.
func (d *DB) CopyIn(table string, columns []string, rows [][]any) error {
	return wire.CopyIn(context.Background(), d.Writer.Conn, table, columns, rows)
}

// Snapshot begins a transaction that sees one state of the store for as long as it
// takes.
func (d *DB) Snapshot(ctx context.Context) (*sql.Tx, error) {
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return nil, d.Classify(err)
	}
	if _, err := tx.ExecContext(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return nil, d.Classify(err)
	}
	return tx, nil
}

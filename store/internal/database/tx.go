package database

import (
	"context"
	"database/sql/driver"
	"time"

	"collect/collection"
)

// A Tx is a transaction that writes. Its statements do not end with a context:
// each takes milliseconds, and an interrupted commit would leave its
// outcome open.
type Tx struct {
	w   *Writer
	Now time.Time // one time for all that the transaction writes

	begun bool // or is about to: its statements may be told later
}

// A Later is a connection that need not be asked for each statement: it tells one for whose answer
// nobody waits with the next one, which fails if it does. Where there is no next one, it is
// forgotten.
type Later interface {
	Later(query string, args []any) error
	Forget()
}

// Connect takes a connection in the place of one that was lost.
func (t Tx) Connect() error { return t.w.Connect(context.Background()) }

// Connected reports whether there is a connection.
func (t Tx) Connected() bool { return t.w.Conn != nil }

// Dialect is that of the database.
func (t Tx) Dialect() *Dialect { return t.w.Dialect }

// RecordSum is the function record_sum of the database.
func (t Tx) RecordSum(stream, partition, slice int64, key, data string, mark collection.Mark, deleted int64) int64 {
	return t.w.Dialect.RecordSum(stream, partition, slice, key, data, mark, deleted)
}

// commit ends the transaction. An error does not say whether it took effect.
func (t Tx) commit() error {
	if err := t.w.at(BeforeCommit); err != nil {
		return err
	}
	if _, err := t.Change("COMMIT"); err != nil {
		return err
	}
	return t.w.at(AfterCommit)
}

// Rollback ends the transaction without effect. A database that has rolled back by
// itself answers with an error, which says nothing.
func (t Tx) Rollback() {
	if !t.Connected() {
		return
	}
	if t.later() {
		_ = t.w.Conn.Raw(func(conn any) error {
			conn.(Later).Forget()
			return nil
		})
	}
	_, _ = t.Change("ROLLBACK")
}

// later reports whether a statement is told with the next one, if nobody waits for its answer.
func (t Tx) later() bool { return t.begun && t.w.Dialect.Later }

// Exec runs a statement, at the latest before the next one of another kind is run. An error may be
// that of one before.
func (t Tx) Exec(query string, args ...any) error {
	if !t.later() {
		_, err := t.Change(query, args...)
		return err
	}
	if _, err := t.w.stmt(query); err != nil {
		return err
	}
	return t.w.Conn.Raw(func(conn any) error { return conn.(Later).Later(query, args) })
}

// Once runs a statement that is not worth preparing.
func (t Tx) Once(query string) error {
	_, err := t.w.Conn.ExecContext(context.Background(), query)
	return err
}

// Change runs a statement and returns the number of rows it changed.
func (t Tx) Change(query string, args ...any) (int64, error) {
	stmt, err := t.w.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	t.w.answered = true
	return result.RowsAffected()
}

// Insert runs a statement that inserts a row, and returns its id.
func (t Tx) Insert(query string, args ...any) (id int64, err error) {
	err = t.Row(query+" RETURNING id", args...).Scan(&id)
	return id, err
}

// Inner calls do with the statement with text query as the driver's own, which
// do may run and not keep. It is for the inner loop of a collection: database/sql
// would cost as much again as SQLite.
func (t Tx) Inner(query string, do func(driver.StmtExecContext) error) error {
	return t.w.Conn.Raw(func(conn any) error {
		if t.w.plain[query] == nil {
			stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
			if err != nil {
				return err
			}
			t.w.plain[query] = stmt.(driver.StmtExecContext)
		}
		return do(t.w.plain[query])
	})
}

// Row returns the row that a query finds, to be scanned.
func (t Tx) Row(query string, args ...any) Scanner {
	stmt, err := t.w.stmt(query)
	if err != nil {
		return broken{err}
	}
	row := stmt.QueryRowContext(context.Background(), args...)
	t.w.answered = t.w.answered || row.Err() == nil
	return sound{row, t.w.kind}
}

// Each calls scan with each row that a query finds.
func (t Tx) Each(scan func(Scanner) error, query string, args ...any) error {
	stmt, err := t.w.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	t.w.answered = t.w.answered || err == nil
	return Each(rows, err, func(row Scanner) error { return scan(sound{row, t.w.kind}) })
}

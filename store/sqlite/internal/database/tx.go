package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"collect/store/sqlite/internal/disk"
)

// A Tx is a transaction that writes. Its statements do not end with a context:
// each takes milliseconds, and an interrupted commit would leave its
// outcome open.
type Tx struct {
	w   *Writer
	Now time.Time // one time for all that the transaction writes
}

// begin takes the write lock.
//
// After a write that waited in vain none waits as long, until one has the lock.
// If the kernel did not take back a lock of ours, which SQLite is not told of,
// this process waits for itself, and the writes that end a run would do so in
// turn.
func (t Tx) begin(patience time.Duration) error {
	wait := min(patience, t.w.Most)
	if t.w.inVain {
		wait = min(patience, disk.Patience)
	}
	if err := t.w.wait(wait); err != nil {
		return err
	}
	err := t.Exec("BEGIN IMMEDIATE")
	switch {
	case err == nil:
		t.w.inVain = false
	case isBusy(err) && patience == busyTimeout:
		t.w.inVain = true
	}
	return err
}

// commit ends the transaction. An error does not say whether it took effect.
func (t Tx) commit() error {
	if err := t.w.at(BeforeCommit); err != nil {
		return err
	}
	if err := t.Exec("COMMIT"); err != nil {
		return err
	}
	return t.w.at(AfterCommit)
}

// rollback ends the transaction without effect. SQLite has rolled back by
// itself after some errors and then answers with another, which says nothing.
func (t Tx) rollback() { _ = t.Exec("ROLLBACK") }

// Exec runs a statement.
func (t Tx) Exec(query string, args ...any) error {
	_, err := t.Change(query, args...)
	return err
}

// Once runs a statement that is not worth preparing.
func (t Tx) Once(query string) error {
	_, err := t.w.Conn.ExecContext(context.Background(), query)
	return err
}

// Change runs a statement and returns the number of rows it changed.
func (t Tx) Change(query string, args ...any) (int64, error) {
	return t.run(query, args, sql.Result.RowsAffected)
}

// Insert runs a statement and returns the number of the row it inserted.
func (t Tx) Insert(query string, args ...any) (int64, error) {
	return t.run(query, args, sql.Result.LastInsertId)
}

func (t Tx) run(query string, args []any, number func(sql.Result) (int64, error)) (int64, error) {
	stmt, err := t.w.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return number(result)
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
	return sound{stmt.QueryRowContext(context.Background(), args...)}
}

// Each calls scan with each row that a query finds.
func (t Tx) Each(scan func(Scanner) error, query string, args ...any) error {
	stmt, err := t.w.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	return Each(rows, err, func(row Scanner) error { return scan(sound{row}) })
}

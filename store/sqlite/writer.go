package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"collect/collection"
	"collect/store/sqlite/internal/disk"
)

// A writer is the one connection of a store that writes, with the statements
// it has prepared. Whoever holds its turn may use it.
type writer struct {
	file  *disk.File
	turn  chan struct{} // holds a token while no one writes
	ended bool
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by their text, of which there is a fixed number

	plain map[string]driver.StmtExecContext // those that are the driver's own

	most   time.Duration // how long a write may wait for others
	waits  time.Duration // how long the connection does
	inVain bool          // one did in vain, and none had the lock since

	// fault, if set by a test of this package, fails a step of a transaction.
	fault func(step) error
}

var (
	// errReadOnly: the caller opened the store to look.
	errReadOnly = errors.New("the store was opened to be read")

	// errClosed: the store was closed under a ledger.
	errClosed = errors.New("the store is closed")
)

// A step is a moment of a transaction at which it can fail.
type step string

const (
	beforeBegin  step = "before begin"
	beforeCommit step = "before commit" // nothing took effect
	afterCommit  step = "after commit"  // everything did, but no one was told
	readBack     step = "read back"     // when the outcome is looked up
)

func openWriter(file *disk.File) (*writer, error) {
	w := &writer{
		file: file, turn: make(chan struct{}, 1), db: single(file.Path),
		stmts: map[string]*sql.Stmt{}, plain: map[string]driver.StmtExecContext{}, most: busyTimeout, waits: busyTimeout,
	}
	var err error
	if w.conn, err = w.db.Conn(context.Background()); err == nil {
		var tables int // a look makes SQLite open the log and the shared memory
		err = w.conn.QueryRowContext(context.Background(), "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	}
	if err != nil {
		return nil, errors.Join(err, w.db.Close())
	}
	w.turn <- struct{}{}
	return w, nil
}

// close merges the WAL into the database and closes the connection. If a
// reader of another process keeps the WAL in use, it is left to the last one
// that closes. If the files are not in their places any more, others may not
// see the locks of w, and it is left to SQLite, which merges it only if there
// are no others.
func (w *writer) close() error {
	<-w.turn
	defer func() { w.turn <- struct{}{} }()
	if w.ended {
		return nil
	}
	w.ended = true
	ctx := context.Background()
	err := w.wait(disk.Patience)
	var busy, frames, merged int
	if w.file.InPlace() == nil {
		err = errors.Join(err, w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &merged))
	}
	for _, stmt := range w.stmts {
		err = errors.Join(err, stmt.Close())
	}
	for _, stmt := range w.plain {
		err = errors.Join(err, w.conn.Raw(func(any) error { return stmt.(driver.Stmt).Close() }))
	}
	return errors.Join(err, w.conn.Close(), w.db.Close())
}

// at fails the step that a test chose.
func (w *writer) at(s step) error {
	if w.fault == nil {
		return nil
	}
	return w.fault(s)
}

// A tx is a transaction that writes. Its statements do not end with a context:
// what is begun takes milliseconds, and an interrupted commit would leave its
// outcome open.
type tx struct {
	*writer
	now time.Time // one time for all that the transaction writes
}

// update runs do in a transaction, and commits it if do returns nil. An error
// of the port's vocabulary is returned as such. If the commit fails, done is
// asked in the same way whether it took effect nevertheless; if that cannot be
// told, the error is collection.ErrUnknown. If the file is no longer where it
// was opened, the error is store.ErrMissing, and do does not run.
func (w *writer) update(ctx context.Context, do func(tx) error, done func(tx) (bool, error)) error {
	return w.updateWithin(ctx, busyTimeout, do, done)
}

// updateWithin is update, and waits no longer than patience for others.
func (w *writer) updateWithin(ctx context.Context, patience time.Duration, do func(tx) error, done func(tx) (bool, error)) error {
	if w == nil {
		return errReadOnly
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.turn:
		defer func() { w.turn <- struct{}{} }()
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx) // select chooses at random
	}
	if w.ended {
		return errClosed
	}
	t := tx{w, time.Now().UTC().Truncate(time.Microsecond)}
	if err := w.at(beforeBegin); err != nil {
		return classify(w.file, err)
	}
	if err := t.begin(patience); err != nil {
		return classify(w.file, err)
	}
	if err := w.file.InPlace(); err != nil {
		t.rollback()
		return err
	}
	if err := do(t); err != nil {
		t.rollback()
		return classify(w.file, err)
	}
	cause := t.commit()
	if cause == nil {
		return nil
	}
	t.rollback()
	committed, err := t.settled(done)
	switch {
	case err != nil:
		// The cause is told, not wrapped: it may be ErrFull, which promises
		// that nothing was written.
		return fmt.Errorf("%w: %v, and then: %v", collection.ErrUnknown, classify(w.file, cause), err)
	case committed:
		return nil
	}
	return classify(w.file, cause)
}

// begin takes the write lock.
//
// After a write that waited in vain none waits as long, until one has the lock.
// If the kernel did not take back a lock of ours, which SQLite is not told of,
// this process waits for itself, and the writes that end a run would do so in
// turn.
func (t tx) begin(patience time.Duration) error {
	wait := min(patience, t.most)
	if t.inVain {
		wait = min(patience, disk.Patience)
	}
	if err := t.wait(wait); err != nil {
		return err
	}
	err := t.exec("BEGIN IMMEDIATE")
	switch {
	case err == nil:
		t.inVain = false
	case isBusy(err) && patience == busyTimeout:
		t.inVain = true
	}
	return err
}

// wait sets how long the connection waits for others.
func (w *writer) wait(patience time.Duration) error {
	if w.waits == patience {
		return nil
	}
	_, err := w.conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA busy_timeout = %d", patience.Milliseconds()))
	if err == nil {
		w.waits = patience
	}
	return err
}

// commit ends the transaction. An error does not say whether it took effect.
func (t tx) commit() error {
	if err := t.at(beforeCommit); err != nil {
		return err
	}
	if err := t.exec("COMMIT"); err != nil {
		return err
	}
	return t.at(afterCommit)
}

// rollback ends the transaction without effect. SQLite has rolled back by
// itself after some errors and then answers with another, which says nothing.
func (t tx) rollback() { _ = t.exec("ROLLBACK") }

// settled looks up whether a transaction took effect.
func (t tx) settled(done func(tx) (bool, error)) (bool, error) {
	if err := t.at(readBack); err != nil {
		return false, err
	}
	return done(t)
}

// stmt returns the statement with text query, prepared once.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if stmt := w.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = stmt
	return stmt, nil
}

// inner calls do with the statement with text query as the driver's own, which
// do may run and not keep. It is for the inner loop of a collection: database/sql
// would cost as much again as SQLite.
func (t tx) inner(query string, do func(driver.StmtExecContext) error) error {
	return t.conn.Raw(func(conn any) error {
		if t.plain[query] == nil {
			stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
			if err != nil {
				return err
			}
			t.plain[query] = stmt.(driver.StmtExecContext)
		}
		return do(t.plain[query])
	})
}

// exec runs a statement.
func (t tx) exec(query string, args ...any) error {
	_, err := t.change(query, args...)
	return err
}

// once runs a statement that is not worth preparing.
func (t tx) once(query string) error {
	_, err := t.conn.ExecContext(context.Background(), query)
	return err
}

// change runs a statement and returns the number of rows it changed.
func (t tx) change(query string, args ...any) (int64, error) {
	result, err := t.run(query, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert runs a statement and returns the number of the row it inserted.
func (t tx) insert(query string, args ...any) (int64, error) {
	result, err := t.run(query, args)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (t tx) run(query string, args []any) (sql.Result, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(context.Background(), args...)
}

// row returns the row that a query finds, to be scanned.
func (t tx) row(query string, args ...any) scanner {
	stmt, err := t.stmt(query)
	if err != nil {
		return broken{err}
	}
	return sound{stmt.QueryRowContext(context.Background(), args...)}
}

// each calls scan with each row that a query finds.
func (t tx) each(scan func(scanner) error, query string, args ...any) error {
	stmt, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	return each(rows, err, func(row scanner) error { return scan(sound{row}) })
}

// each calls scan with each of the rows that a query found, or returns err.
func each(rows *sql.Rows, err error, scan func(scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// sound is a row whose values must be of the kinds that are stored.
type sound struct{ scanner }

func (s sound) Scan(dest ...any) error { return misread(s.scanner.Scan(dest...)) }

// A scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// broken is the row of a query that could not be prepared.
type broken struct{ err error }

func (b broken) Scan(...any) error { return b.err }

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"collect/collection"
)

// A writer is the one connection of a store that writes, with the statements
// it has prepared. Whoever holds its turn may use it.
type writer struct {
	turn  chan struct{} // holds a token while no one writes
	ended bool
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by their text, of which there is a fixed number

	upsert driver.StmtExecContext // prepared when it is first needed

	most   time.Duration // how long a write may wait for others
	waits  time.Duration // how long the connection does
	inVain bool          // one did in vain, and none had the lock since

	// fault, if set by a test of this package, fails a step of a transaction.
	fault func(step) error
}

// errClosed: the store was closed under a ledger.
var errClosed = errors.New("the store is closed")

// A step is a moment of a transaction at which it can fail.
type step string

const (
	beforeBegin  step = "before begin"
	beforeCommit step = "before commit" // nothing took effect
	afterCommit  step = "after commit"  // everything did, but no one was told
	readBack     step = "read back"     // when the outcome is looked up
)

func openWriter(path string) (*writer, error) {
	w := &writer{turn: make(chan struct{}, 1), db: open(writerDSN(path)), stmts: map[string]*sql.Stmt{}, most: busyTimeout, waits: busyTimeout}
	w.db.SetMaxOpenConns(1)
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
// that closes. If apart is set, others may not see the locks of w, and it is
// left to SQLite, which merges it only if there are no others.
func (w *writer) close(apart bool) error {
	<-w.turn
	defer func() { w.turn <- struct{}{} }()
	if w.ended {
		return nil
	}
	w.ended = true
	ctx := context.Background()
	err := w.wait(closePatience)
	var busy, frames, merged int
	if !apart {
		err = errors.Join(err, w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &merged))
	}
	for _, stmt := range w.stmts {
		err = errors.Join(err, stmt.Close())
	}
	if w.upsert != nil {
		err = errors.Join(err, w.conn.Raw(func(any) error { return w.upsert.(driver.Stmt).Close() }))
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
func (s *Store) update(ctx context.Context, do func(tx) error, done func(tx) (bool, error)) error {
	return s.updateWithin(ctx, busyTimeout, do, done)
}

// updateWithin is update, and waits no longer than patience for others.
func (s *Store) updateWithin(ctx context.Context, patience time.Duration, do func(tx) error, done func(tx) (bool, error)) error {
	if s.writer == nil {
		return errReadOnly
	}
	w := s.writer
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
		return s.classify(err)
	}
	if err := t.begin(patience); err != nil {
		return s.classify(err)
	}
	if err := s.inPlace(); err != nil {
		t.rollback()
		return err
	}
	if err := do(t); err != nil {
		t.rollback()
		return s.classify(err)
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
		return fmt.Errorf("%w: %v, and then: %v", collection.ErrUnknown, s.classify(cause), err)
	case committed:
		return nil
	}
	return s.classify(cause)
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
		wait = min(patience, closePatience)
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

// upsert stores a record if it is new or has other bytes, unless its key
// belongs to another partition or what is stored is of a later version.
const upsert = `INSERT INTO records (stream_id, key, partition_id, slice_id, data, sum, mark_scale, mark, pass) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (stream_id, key) DO UPDATE SET slice_id = excluded.slice_id, data = excluded.data, sum = excluded.sum,
		mark_scale = excluded.mark_scale, mark = excluded.mark
	WHERE data IS NOT excluded.data AND partition_id = excluded.partition_id
		AND NOT (mark_scale = excluded.mark_scale AND mark > excluded.mark)`

// upsertStmt returns the statement that stores a record, as the driver's own.
// It may be used inside Raw of the connection, and ends with it.
func (w *writer) upsertStmt() (driver.StmtExecContext, error) {
	if w.upsert != nil {
		return w.upsert, nil
	}
	err := w.conn.Raw(func(conn any) error {
		stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), upsert)
		if err == nil {
			w.upsert = stmt.(driver.StmtExecContext)
		}
		return err
	})
	return w.upsert, err
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
	stmt, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert runs a statement and returns the number of the row it inserted.
func (t tx) insert(query string, args ...any) (int64, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// row returns the row that a query finds, to be scanned.
func (t tx) row(query string, args ...any) scanner {
	stmt, err := t.stmt(query)
	if err != nil {
		return broken{err}
	}
	return sound{stmt.QueryRowContext(context.Background(), args...)}
}

// rows returns the rows that a query finds. The caller closes them.
func (t tx) rows(query string, args ...any) (*sql.Rows, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.Background(), args...)
}

// sound is a row whose values must be of the kinds that are stored.
type sound struct{ scanner }

func (s sound) Scan(dest ...any) error { return misread(s.scanner.Scan(dest...)) }

// A scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// broken is the row of a query that could not be prepared.
type broken struct{ err error }

func (b broken) Scan(...any) error { return b.err }

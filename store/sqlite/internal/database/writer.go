package database

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

// A Writer is the one connection of a store that writes, with the statements
// it has prepared. Who holds its turn may use it.
type Writer struct {
	file  *disk.File
	turn  chan struct{} // holds a token while no one writes
	ended bool
	db    *sql.DB
	Conn  *sql.Conn
	stmts map[string]*sql.Stmt // by their text; the number of texts is fixed

	plain map[string]driver.StmtExecContext // those that are the driver's own

	Most   time.Duration // how long a write may wait for others
	waits  time.Duration // how long the connection does
	inVain bool          // one did in vain, and none had the lock since

	// Fault, if set by a test of this package, fails a step of a transaction.
	Fault func(Step) error
}

var (
	// ErrReadOnly: the caller opened the store to look.
	ErrReadOnly = errors.New("the store was opened to be read")

	// errClosed: the store was closed under a ledger.
	errClosed = errors.New("the store is closed")
)

// A Step is a moment of a transaction at which it can fail.
type Step string

const (
	BeforeBegin  Step = "before begin"
	BeforeCommit Step = "before commit" // nothing took effect
	AfterCommit  Step = "after commit"  // everything did, but no one was told
	ReadBack     Step = "read back"     // when the outcome is looked up
)

func openWriter(file *disk.File) (*Writer, error) {
	w := &Writer{
		file: file, turn: make(chan struct{}, 1), db: Single(file.Path),
		stmts: map[string]*sql.Stmt{}, plain: map[string]driver.StmtExecContext{}, Most: busyTimeout, waits: busyTimeout,
	}
	var err error
	if w.Conn, err = w.db.Conn(context.Background()); err == nil {
		var tables int // a look makes SQLite open the log and the shared memory
		err = w.Conn.QueryRowContext(context.Background(), "SELECT count(*) FROM sqlite_schema").Scan(&tables)
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
func (w *Writer) close() error {
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
		err = errors.Join(err, w.Conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &merged))
	}
	for _, stmt := range w.stmts {
		err = errors.Join(err, stmt.Close())
	}
	for _, stmt := range w.plain {
		err = errors.Join(err, w.Conn.Raw(func(any) error { return stmt.(driver.Stmt).Close() }))
	}
	return errors.Join(err, w.Conn.Close(), w.db.Close())
}

// at fails the step that a test chose.
func (w *Writer) at(s Step) error {
	if w.Fault == nil {
		return nil
	}
	return w.Fault(s)
}

// Update runs do in a transaction, and commits it if do returns nil. An error
// of the port's vocabulary is returned as such. If the commit fails, done is
// asked in the same way whether it took effect nevertheless; if that cannot be
// told, the error is collection.ErrUnknown. If the file is no longer where it
// was opened, the error is store.ErrMissing, and do does not run.
func (w *Writer) Update(ctx context.Context, do func(Tx) error, done func(Tx) (bool, error)) error {
	return w.UpdateWithin(ctx, busyTimeout, do, done)
}

// UpdateWithin is update, and waits no longer than patience for others.
func (w *Writer) UpdateWithin(ctx context.Context, patience time.Duration, do func(Tx) error, done func(Tx) (bool, error)) error {
	if w == nil {
		return ErrReadOnly
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
	t := Tx{w, time.Now().UTC().Truncate(time.Microsecond)}
	if err := w.at(BeforeBegin); err != nil {
		return Classify(w.file, err)
	}
	if err := t.begin(patience); err != nil {
		return Classify(w.file, err)
	}
	if err := w.file.InPlace(); err != nil {
		t.rollback()
		return err
	}
	if err := do(t); err != nil {
		t.rollback()
		return Classify(w.file, err)
	}
	cause := t.commit()
	if cause == nil {
		return nil
	}
	t.rollback()
	committed, err := false, w.at(ReadBack)
	if err == nil {
		committed, err = done(t)
	}
	switch {
	case err != nil:
		// The cause is told, not wrapped: it may be ErrFull, which promises
		// that nothing was written.
		return fmt.Errorf("%w: %v, and then: %v", collection.ErrUnknown, Classify(w.file, cause), err)
	case committed:
		return nil
	}
	return Classify(w.file, cause)
}

// wait sets how long the connection waits for others.
func (w *Writer) wait(patience time.Duration) error {
	if w.waits == patience {
		return nil
	}
	_, err := w.Conn.ExecContext(context.Background(), fmt.Sprintf("PRAGMA busy_timeout = %d", patience.Milliseconds()))
	if err == nil {
		w.waits = patience
	}
	return err
}

// stmt returns the statement with text query, prepared once.
func (w *Writer) stmt(query string) (*sql.Stmt, error) {
	if stmt := w.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := w.Conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = stmt
	return stmt, nil
}

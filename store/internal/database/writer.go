// Package database runs what reads and what writes the database of a store: one
// connection that writes, in transactions whose outcome is known, a few that read,
// and errors in the words of package store. It knows no kind of database: a [Kind]
// and a [Dialect] do.
package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"collect/collection"
)

// Patience is how long a write waits for those of others. Writes take milliseconds;
// only a disk that hangs makes anyone wait longer.
const Patience = 30 * time.Second

// A Writer is the one connection of a store that writes, with the statements
// it has prepared. Who holds its turn may use it.
type Writer struct {
	Dialect *Dialect

	kind     Kind
	turn     chan struct{} // holds a token while no one writes
	ended    bool
	answered bool // a statement of the transaction was
	db       *sql.DB
	Conn     *sql.Conn            // nil: it was lost
	stmts    map[string]*sql.Stmt // by their text; the number of texts is fixed

	plain map[string]driver.StmtExecContext // those that are the driver's own

	// Fault, if set by a test, fails a step of a transaction.
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

// NewWriter returns a writer on a connection of db.
func NewWriter(ctx context.Context, db *sql.DB, kind Kind, d *Dialect) (*Writer, error) {
	w := &Writer{kind: kind, Dialect: d, turn: make(chan struct{}, 1), db: db}
	if err := w.Connect(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	w.turn <- struct{}{}
	return w, nil
}

// Connect takes a connection, in the place of one that was lost.
func (w *Writer) Connect(ctx context.Context) (err error) {
	w.drop()
	w.Conn, err = w.db.Conn(ctx)
	return err
}

// drop lets go of the connection and of what was prepared on it. What was lost
// answers with an error, which says nothing.
func (w *Writer) drop() {
	if w.Conn != nil {
		_ = w.end()
	}
	w.stmts, w.plain, w.Conn = map[string]*sql.Stmt{}, map[string]driver.StmtExecContext{}, nil
}

// end closes the connection and what was prepared on it.
func (w *Writer) end() (err error) {
	for _, stmt := range w.stmts {
		err = errors.Join(err, stmt.Close())
	}
	for _, stmt := range w.plain {
		err = errors.Join(err, w.Conn.Raw(func(any) error { return stmt.(driver.Stmt).Close() }))
	}
	return errors.Join(err, w.Conn.Close())
}

// Close closes the connection, after last, which is done first and in the turn
// of the writer.
func (w *Writer) Close(last func() error) error {
	<-w.turn
	defer func() { w.turn <- struct{}{} }()
	if w.ended {
		return nil
	}
	w.ended = true
	if w.Conn == nil {
		return w.db.Close()
	}
	return errors.Join(last(), w.end(), w.db.Close())
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
// told, the error is collection.ErrUnknown. Where what is written would not be
// found, as the file is no longer where it was opened, do does not run.
func (w *Writer) Update(ctx context.Context, do func(Tx) error, done func(Tx) (bool, error)) error {
	return w.update(ctx, true, Patience, do, done)
}

// UpdateBeside is Update for what belongs to one lease, whose row do writes before anything
// else: where the database can, others write for other leases meanwhile. It waits no
// longer than patience for others. do may run twice, where the connection was lost before anything was
// answered.
func (w *Writer) UpdateBeside(ctx context.Context, patience time.Duration, do func(Tx) error, done func(Tx) (bool, error)) error {
	return w.update(ctx, false, patience, do, done)
}

func (w *Writer) update(ctx context.Context, alone bool, patience time.Duration, do func(Tx) error, done func(Tx) (bool, error)) error {
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
	t := Tx{w, time.Now().UTC().Truncate(time.Microsecond), true}
	if err := w.at(BeforeBegin); err != nil {
		return w.kind.Classify(err)
	}
	err := w.begin(t, alone, patience, do)
	if !alone && !w.answered && w.kind.Lost(err) { // it was ended before: nothing was done yet
		err = w.begin(t, alone, patience, do)
	}
	if err != nil {
		return err
	}
	cause := t.commit()
	if cause == nil {
		return nil
	}
	t.Rollback()
	cause = w.failed(cause)
	committed, err := false, w.at(ReadBack)
	if err == nil {
		committed, err = w.kind.Ask(t, done)
	}
	switch {
	case err != nil:
		// The cause is told, not wrapped: it may be ErrFull, which promises
		// that nothing was written.
		return fmt.Errorf("%w: %v, and then: %v", collection.ErrUnknown, cause, w.failed(err))
	case committed:
		return nil
	}
	return cause
}

// begin begins a transaction and runs do in it. An error ends it.
func (w *Writer) begin(t Tx, alone bool, patience time.Duration, do func(Tx) error) error {
	if err := w.kind.Begin(t, alone, patience); err != nil {
		return w.failed(err)
	}
	if err := w.kind.Ready(); err != nil {
		t.Rollback()
		return err
	}
	w.answered = false
	if err := do(t); err != nil {
		t.Rollback()
		return w.failed(err)
	}
	return nil
}

// Alone runs do in the turn of the writer, and in no transaction.
func (w *Writer) Alone(ctx context.Context, do func(Tx) error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.turn:
		defer func() { w.turn <- struct{}{} }()
	}
	if w.ended {
		return errClosed
	}
	if err := do(Tx{w, time.Now().UTC().Truncate(time.Microsecond), false}); err != nil {
		return w.failed(err)
	}
	return nil
}

// failed classifies an error, and lets go of a connection that was lost.
func (w *Writer) failed(err error) error {
	if w.kind.Lost(err) {
		w.drop()
	}
	return w.kind.Classify(err)
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

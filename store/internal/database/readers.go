package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"collect/collection"
	"collect/store"
)

// Readers are the connections of a database that cannot write.
type Readers struct {
	Name    string // of the store, as messages say it
	DB      *sql.DB
	Dialect *Dialect
	Guard   func() error // returns an error if what is not to change did, while it was read; nil: nothing is asked

	errors  Errors
	mu      sync.Mutex
	queries map[string]*sql.Stmt // by their text; the number of texts is fixed
}

// NewReaders returns readers over the connections of db, which cannot write.
func NewReaders(name string, db *sql.DB, of Errors, d *Dialect) *Readers {
	return &Readers{Name: name, DB: db, Dialect: d, errors: of, queries: map[string]*sql.Stmt{}}
}

// RecordSum is the function record_sum of the database.
func (r *Readers) RecordSum(stream, partition, slice int64, key, data string, mark collection.Mark, deleted int64) int64 {
	return r.Dialect.RecordSum(stream, partition, slice, key, data, mark, deleted)
}

// Prepared returns the statement with text query, prepared once for each
// connection. It ends with them.
//
// To prepare one takes a connection, for which it may have to wait. So it is
// not done under mu.
func (r *Readers) Prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := r.known(query); stmt != nil {
		return stmt, nil
	}
	stmt, err := r.DB.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.queries[query]; first != nil {
		return first, stmt.Close() // somebody else was quicker
	}
	r.queries[query] = stmt
	return stmt, nil
}

func (r *Readers) known(query string) *sql.Stmt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queries[query]
}

// ErrEnough, returned by what scans rows, ends a query before its last row.
var ErrEnough = errors.New("enough")

// Query runs a query and calls scan for each row, until it has enough.
func (r *Readers) Query(ctx context.Context, scan func(Scanner) error, query string, args ...any) error {
	stmt, err := r.Prepared(ctx, query)
	if err != nil {
		return r.Classify(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return r.Classify(err)
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		err := scan(rows)
		if errors.Is(err, ErrEnough) {
			break
		}
		if err != nil {
			return r.Unreadable(err)
		}
	}
	return errors.Join(r.Classify(rows.Err()), r.Whole())
}

// Of returns the condition that column is a connector, with its argument; one that
// always holds for "". So each has a text, and a plan, of its own.
func Of(column, connector string) (condition string, args []any) {
	if connector == "" {
		return "true", nil
	}
	return column + " = ?1", []any{connector}
}

// Unreadable classifies an error of scanning a row.
func (r *Readers) Unreadable(err error) error {
	if err = misread(r.errors, err); errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("store %s: %w", r.Name, err)
	}
	return r.Classify(err)
}

// One scans the one row of a query; found is false if there is none.
func (r *Readers) One(ctx context.Context, dest []any, query string, args ...any) (found bool, err error) {
	err = r.Query(ctx, func(row Scanner) error {
		found = true
		return row.Scan(dest...)
	}, query, args...)
	return found, err
}

// Classify puts an error about the database into the words of the port.
func (r *Readers) Classify(err error) error {
	if err == nil {
		return nil
	}
	return r.errors.Classify(err)
}

// Whole returns an error if what was read so far need not belong together.
func (r *Readers) Whole() error {
	if r.Guard == nil {
		return nil
	}
	return r.Guard()
}

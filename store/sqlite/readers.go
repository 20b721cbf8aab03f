package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"collect/store"
	"collect/store/sqlite/internal/disk"
)

// Readers are the connections of a database that cannot write.
type readers struct {
	file  *disk.File
	db    *sql.DB
	guard func() error // says what is wrong with what was read

	mu      sync.Mutex
	queries map[string]*sql.Stmt // by their text, of which there is a fixed number
}

// openReaders returns connections to a file that have not connected yet. The
// mode is ro, or immutable for a file that does not change.
func openReaders(file *disk.File, mode string) *readers {
	db := open(dsn(file.Path, mode, "query_only(1)", fmt.Sprintf("cache_size(-%d)", readerCache)))
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	return &readers{file: file, db: db, guard: func() error { return nil }, queries: map[string]*sql.Stmt{}}
}

// prepared returns the statement with text query, prepared once for each
// connection. It ends with them.
//
// To prepare one takes a connection, for which it may have to wait. So it is
// not done under mu.
func (r *readers) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt := r.known(query); stmt != nil {
		return stmt, nil
	}
	stmt, err := r.db.PrepareContext(ctx, query)
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

func (r *readers) known(query string) *sql.Stmt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queries[query]
}

// errEnough, returned by what scans rows, ends a query before its last row.
var errEnough = errors.New("enough")

// query runs a query and calls scan for each row, until it has enough.
func (r *readers) query(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	stmt, err := r.prepared(ctx, query)
	if err != nil {
		return r.classify(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return r.classify(err)
	}
	defer rows.Close() // Err tells
	for rows.Next() {
		err := scan(rows)
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return r.unreadable(err)
		}
	}
	return errors.Join(r.classify(rows.Err()), r.guard())
}

// unreadable classifies an error of scanning a row.
func (r *readers) unreadable(err error) error {
	if err = misread(err); errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("store %s: %w", r.file.Path, err)
	}
	return r.classify(err)
}

// one scans the one row of a query; found is false if there is none.
func (r *readers) one(ctx context.Context, dest []any, query string, args ...any) (found bool, err error) {
	err = r.query(ctx, func(row scanner) error {
		found = true
		return row.Scan(dest...)
	}, query, args...)
	return found, err
}

// classify puts an error about the database into the words of the port.
func (r *readers) classify(err error) error { return classify(r.file, err) }

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"collect/store"
)

// Settings of every connection.
const (
	// busyTimeout is how long a write waits for one of another process. Writes
	// take milliseconds; only a disk that hangs makes anyone wait longer.
	busyTimeout = 30 * time.Second

	// writerCache and readerCache bound the page cache of a connection, in
	// KiB. 32 MiB hold the inner pages of the key index at ten million
	// records, so that an upsert by a random key costs one page read. They fill
	// as the store grows, which is why a run of a million records takes some
	// 45 MB more than a small one, all of it by the first 200,000.
	writerCache = 32 << 10
	readerCache = 8 << 10

	// walLimit is the size in bytes to which a WAL that had to grow, because
	// a reader held it, is cut back.
	walLimit = 64 << 20

	// readers is the number of connections that read at once.
	readers = 4
)

// dsn names the database at path for the driver. The mode is rw, ro, or
// immutable: ro for a file that does not change. Pragmas are applied to each
// connection.
func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}}
	switch mode {
	case "rw":
		// Take the write lock at BEGIN, not when the first statement writes.
		q.Set("_txlock", "immediate")
	case "immutable":
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	}
	q["_pragma"] = append([]string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"temp_store(MEMORY)",
		"trusted_schema(OFF)",
		"cell_size_check(1)", // a damaged page is told when it is read, not when it is used
	}, pragmas...)
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// writerDSN names the database for the connection that writes.
func writerDSN(path string) string {
	return dsn(path, "rw",
		"synchronous(FULL)",
		fmt.Sprintf("cache_size(-%d)", writerCache),
		fmt.Sprintf("journal_size_limit(%d)", walLimit),
	)
}

// openReaders returns a pool of connections that cannot write.
func openReaders(path, mode string) *sql.DB {
	db := open(dsn(path, mode, "query_only(1)", fmt.Sprintf("cache_size(-%d)", readerCache)))
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return db
}

// open returns a pool that has not connected yet.
func open(dsn string) *sql.DB { return sql.OpenDB(connector{dsn, newDriver()}) }

// A connector makes the connections of a pool, with a driver of its own.
type connector struct {
	dsn    string
	driver driver.Driver
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return c.driver }

// openReadOnly opens the store at path without changing a byte of it.
//
// Where the directory can be written, the connections are ordinary readers:
// SQLite makes a -wal and -shm for the time, which let a run begin meanwhile,
// and tidy removes them. In a directory that cannot be written they cannot be
// made. Then, if there is no WAL, the file holds everything, and it is read
// as one that does not change; guard notices if it does.
func openReadOnly(ctx context.Context, path string) (*Store, error) {
	file, err := exists(path)
	if err != nil {
		return nil, err
	}
	if err := refuseNetwork(filepath.Dir(path)); err != nil {
		return nil, err
	}
	s := &Store{path: path, file: file, readers: openReaders(path, "ro"), guard: func() error { return nil }}
	err = checkVersion(ctx, path, s.readers)
	if err != nil && isCannotOpen(err) && walSize(path) <= 0 {
		before, statErr := os.Stat(path)
		if statErr != nil {
			return nil, errors.Join(statErr, s.readers.Close())
		}
		err = errors.Join(s.readers.Close())
		s.readers = openReaders(path, "immutable")
		s.guard = func() error { return unchanged(path, before) }
		if err == nil {
			err = checkVersion(ctx, path, s.readers)
		}
	}
	if err != nil {
		return nil, errors.Join(s.classify(err), s.Close())
	}
	return s, nil
}

// unchanged returns an error if the file is not as it was, or has a WAL now.
func unchanged(path string, before fs.FileInfo) error {
	now, err := os.Stat(path)
	if err != nil {
		return err
	}
	if walSize(path) > 0 || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) {
		return fmt.Errorf("store %s changed while it was read from a directory that cannot be written", path)
	}
	return nil
}

// walSize returns the size of the WAL of the database at path, -1 if there is
// none.
func walSize(path string) int64 {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return -1
	}
	return info.Size()
}

// tidy removes the -wal and -shm that readers of the database at path left,
// if the WAL is empty. A connection that can write removes them itself when
// it is the last; SQLite knows whether it is. A WAL that is not empty belongs
// to a run, living or killed, and merging it would change the file.
func tidy(path string) error {
	if walSize(path) != 0 || !canWrite(path) {
		return nil
	}
	db := open(dsn(path, "rw"))
	var n int
	err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&n)
	return errors.Join(err, db.Close())
}

// checkVersion returns store.ErrMissing, ErrNotDatabase, ErrDamaged, ErrNewer or
// ErrOlder if db, at path, does not hold a store, or not one of this version.
func checkVersion(ctx context.Context, path string, db *sql.DB) error {
	have, err := version(ctx, path, db)
	switch {
	case err != nil:
		return err
	case have == 0:
		return errEmpty(path)
	case have > newest():
		return fmt.Errorf("the store was %w", store.ErrNewer)
	case have < newest():
		return fmt.Errorf("the store was %w", store.ErrOlder)
	}
	return nil
}

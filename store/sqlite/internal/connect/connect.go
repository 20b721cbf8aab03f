package connect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"

	"modernc.org/sqlite"

	"collect/collection"
	"collect/store/internal/database"
	"collect/store/internal/format"
	"collect/store/sqlite/internal/disk"
)

// Settings of every connection.
const (
	// writerCache and readerCache bound the page cache of a connection, in KiB. What
	// does not fit is read again from the kernel's cache, for some microseconds a page.
	// With 24 MiB for the writer, a run of a million records took 30 MB more than with
	// 8 MiB, and as much CPU.
	writerCache = 8 << 10
	readerCache = 8 << 10

	// walLimit is the size in bytes to which a WAL that had to grow, because
	// a reader held it, is cut back.
	walLimit = 64 << 20

	// mergesEarly is the number of transactions of a writer after which the log is
	// merged into the database at lateMerge pages (16 MB) in place of SQLite's 1,000. A
	// page that many transactions change, as those of an index whose keys come at
	// random, is then written to the database less often. A run with fewer transactions
	// would have the whole log to merge at its end, while nothing is fetched.
	mergesEarly = 256
	lateMerge   = 4000

	// PoolSize is the number of connections that read at once.
	PoolSize = 4
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
		fmt.Sprintf("busy_timeout(%d)", database.Patience.Milliseconds()),
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

// Single returns the one connection to the database at path that may write,
// not connected yet.
func Single(path string) *sql.DB {
	db := open(dsn(path, "rw",
		"synchronous(FULL)",
		fmt.Sprintf("cache_size(-%d)", writerCache),
		fmt.Sprintf("journal_size_limit(%d)", walLimit),
	))
	db.SetMaxOpenConns(1)
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

// newDriver returns the driver with the functions record_sum and checkpoint_sum,
// which SQL uses where it goes through all records or checkpoints. The mark of a
// record may be left out, and whether it is deleted.
func newDriver() *sqlite.Driver {
	d := &sqlite.Driver{}
	register := func(name string, arguments int32, f func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error)) {
		// Other than volatile arguments, a text is cut at its first NUL. They are of no
		// use after the call, which keeps none.
		d.MustRegisterFunction(name, &sqlite.FunctionImpl{NArgs: arguments, Deterministic: true, Scalar: f, VolatileArgs: true})
	}
	register("record_sum", -1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		var n [3]int64
		var s [4]string
		var deleted int64
		ok := true
		switch len(args) {
		case 5, len(n) + len(s):
		case len(n) + len(s) + 1:
			deleted, ok = args[len(args)-1].(int64)
			args = args[:len(args)-1]
		default:
			return nil, errors.New("record_sum takes 5, 7 or 8 arguments")
		}
		for i := range args {
			var is bool
			if i < len(n) {
				n[i], is = args[i].(int64)
			} else {
				s[i-len(n)], is = args[i].(string) // #nosec G602 -- there are at most seven arguments
			}
			ok = ok && is
		}
		if !ok {
			return nil, nil // a value that no record has equals no sum
		}
		return format.RecordSum(n[0], n[1], n[2], s[0], s[1], collection.Mark{Scale: s[2], Value: s[3]}, deleted), nil
	})
	register("checkpoint_sum", 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		partition, text := args[0].(string)
		digest, bytes := args[1].([]byte)
		if !text || !bytes {
			return nil, nil // a value that no checkpoint has is not counted
		}
		return format.CheckpointSum(partition, digest), nil
	})
	return d
}

// OpenReaders returns connections to a file that have not connected yet. The
// mode is ro, or immutable for a file that does not change.
func OpenReaders(file *disk.File, mode string) *database.Readers {
	db := open(dsn(file.Path, mode, "query_only(1)", fmt.Sprintf("cache_size(-%d)", readerCache)))
	db.SetMaxOpenConns(PoolSize)
	db.SetMaxIdleConns(PoolSize)
	return database.NewReaders(file.Path, db, own{file}, &dialect)
}

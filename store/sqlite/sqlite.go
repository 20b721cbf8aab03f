// Package sqlite keeps everything that collect remembers in one SQLite file
// that the user owns and can read with any SQLite tool.
//
// # The file
//
// The tables are described by their own schema: ".schema" in the sqlite3
// shell prints it with its comments. Each stream also has a view, named
// connector_stream, with the fields of its records as columns.
//
// The database is in WAL mode with synchronous=FULL: a commit that was
// acknowledged survives a power cut, at the price of one flush. While a run is
// on, a -wal and a -shm file stand beside the database, and a .lock file per
// running connector, which keeps room on the disk for what the run says at its
// end; a clean close leaves one file. Files are 0600 and created directories
// 0700.
//
// # One writer
//
// A store has one connection that writes, with long-lived statements, and a
// few that can only read. Every transaction that writes takes the write lock
// when it begins: one that upgrades later fails at once with
// SQLITE_BUSY_SNAPSHOT, which no busy timeout retries. Other processes may
// write to the same file at the same time, for other connectors; they take
// turns.
//
// # The lease
//
// A connector is run by one process at a time. The lock is a file that the
// kernel frees when its holder dies, however it dies; nothing is concluded
// from age or from the clock. Each time it is taken the connector's epoch in
// the database grows, and every write of a run checks that the epoch is still
// its own, in the same statement that numbers the write. By that number a
// write whose answer was lost can be found again.
package sqlite

import (
	"context"
	"errors"
	"strings"
	"time"

	"collect/internal/filelock"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/ledger"
	"collect/store/sqlite/internal/backup"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
)

// Options says how a store is opened. The zero value opens an existing one
// for reading and writing.
type Options struct {
	// Create makes the file, and the directories it is in, if it does not
	// exist, and fills an empty one. Without it, both are store.ErrMissing.
	Create bool

	// ReadOnly opens the store without changing a byte of it, while others
	// write to it or after they were killed. Create has no effect then.
	ReadOnly bool
}

// A Store is a store.Store in a SQLite file. It is safe for concurrent use.
type Store struct {
	*ledger.Store
	db    *connect.DB
	locks locks
}

var _ store.Store = (*Store)(nil)

// Open opens the store at path and brings its schema up to date.
//
// It returns store.ErrMissing, store.ErrNotDatabase if the file is not a
// store, store.ErrDamaged if it is a broken one, store.ErrNewer if a newer
// version made it, store.ErrNoAccess if the operating system refuses, and an
// error if path is on a network file system, where neither locks nor the
// shared memory of WAL mode can be relied on.
//
// If the file is removed or replaced while the store is open, every write
// fails with store.ErrMissing and changes nothing.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	var db *connect.DB
	if o.ReadOnly {
		db, err = connect.Look(ctx, path)
	} else {
		db, err = connect.Open(ctx, path, o.Create)
	}
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, locks: locks{db: db, held: map[*filelock.Lock]bool{}}}
	s.Store = ledger.New(db.Readers, db.Writer, &s.locks)
	return s, nil
}

// Close closes the store. The last one to close it merges the WAL, so that
// one file is left. Ledgers that are not finished are left as after a crash:
// the next Begin finds them abandoned.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.locks.abandonAll()) }

// Backup copies the store to a file of its own at path, as it is at one moment,
// while others write to it. The copy is examined before it gets its name, so
// that a backup that is there can be restored. Killed at any moment, it leaves
// what was at path before, or the new backup, whole and on the disk.
//
// What is no regular file, such as a pipe or /dev/stdout, is written to, and a link
// is followed.
//
// It returns fs.ErrExist if there is a file and replace is not set,
// store.ErrInUse if it is a database that is open, or another backup is being
// written there, and store.ErrDamaged if the store is damaged: then an older
// backup stays.
func (s *Store) Backup(ctx context.Context, path string, replace bool) error {
	return backup.Write(ctx, s.db, path, replace, connect.Never)
}

// Copies returns when the store was copied, as far as [Store.Note] was told.
func (s *Store) Copies(ctx context.Context) (store.Copies, error) {
	return backup.Copies(ctx, s.db.Readers)
}

// Note keeps the times of c that are set and later than those that are kept.
func (s *Store) Note(ctx context.Context, c store.Copies) error {
	return backup.Note(ctx, s.db.Writer, c)
}

// Drill does all that [Restore] does with the backup at from, but for putting it in the
// place of the store at path. It takes no lock, leaves no file, and may run while a run
// collects. Its errors are those that Restore has for a backup.
func Drill(ctx context.Context, path, from string, audit store.Audit) error {
	return backup.Drill(ctx, path, from, audit)
}

// Restore puts the backup at from in the place of the store at path, and
// returns the path at which the replaced one is kept; "" if there was none.
// The backup is copied, brought up to date and examined first, and not
// touched. At every moment there is a whole store at path, the old one or the
// new one; there is none only if there was none.
//
// What was learned of providers since the backup stays: a freeze, or a wait
// that one asked for, is not forgotten. So do the epochs of leases, and what [Store.Note]
// was told.
//
// A store that is damaged is replaced like any other, and kept with its log
// and its shared memory: a backup is for just that.
//
// It returns a *store.HeldError if a run holds a lease, store.ErrInUse if
// another program has the store open, the errors of [Open] for a backup that
// is none, and store.ErrDamaged if the backup is not whole. It returns
// store.ErrNotDatabase if the file at path never was a store. Then nothing was
// changed.
func Restore(ctx context.Context, path, from string, audit store.Audit) (kept string, err error) {
	return backup.Restore(ctx, path, from, audit, connect.Never)
}

// Spare returns how many bytes of the file are free for what is stored next.
func (s *Store) Spare(ctx context.Context) (bytes int64, err error) {
	_, err = s.db.One(ctx, []any{&bytes}, `SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size`)
	return bytes, err
}

// Shrink gives the free bytes of the store at path back to the disk. It writes the file
// anew, for which the disk needs as much room as the file takes, twice. Killed at any
// moment, it leaves the file as it was, or smaller.
//
// It returns store.ErrInUse if a run, or anybody else, has the store open, and
// collection.ErrFull if there is not enough room. Then nothing was changed.
func Shrink(ctx context.Context, path string) error {
	path, err := disk.Resolve(path)
	if err != nil {
		return err
	}
	return connect.Shrink(ctx, path)
}

// Beside returns a free path beside path, with what and the date in its name.
func Beside(path, what string, now time.Time) string { return disk.Beside(path, what, now) }

// Schema returns the statements that made the tables and indexes, without the
// views: those name fields of records.
func (s *Store) Schema(ctx context.Context) (string, error) {
	var statements []string
	err := s.db.Query(ctx, database.Texts(&statements), `SELECT sql || ';' || char(10) FROM sqlite_schema
		WHERE type IN ('table', 'index') AND sql IS NOT NULL ORDER BY name`)
	return strings.Join(statements, ""), err
}

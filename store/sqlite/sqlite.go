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
// running connector; a clean close leaves one file. Files are 0600 and
// created directories 0700.
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
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver, imported only here

	"collect/internal/dirsync"
	"collect/internal/filelock"
	"collect/store"
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
	path    string
	file    fs.FileInfo // which file was opened at path
	readers *sql.DB
	writer  *writer // nil: read-only

	sidecars map[string]fs.FileInfo // which files were opened beside it, by the ends of their names; empty: read-only
	guard    func() error

	mu      sync.Mutex
	leases  map[*filelock.Lock]bool // held by ledgers that are not finished
	queries map[string]*sql.Stmt    // of the readers, by their text, of which there is a fixed number
}

var _ store.Store = (*Store)(nil)

// errReadOnly: the caller opened the store to look.
var errReadOnly = errors.New("the store was opened to be read")

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
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if o.ReadOnly {
		return openReadOnly(ctx, path)
	}
	s := &Store{path: path, leases: map[*filelock.Lock]bool{}, guard: func() error { return nil }}
	if o.Create {
		s.file, err = create(path)
	} else {
		s.file, err = exists(path)
	}
	if err != nil {
		return nil, err
	}
	if err := refuseNetwork(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := beWritable(path); err != nil {
		return nil, err
	}
	if err := othersAreSeen(path); err != nil {
		return nil, err
	}
	if err := migrate(ctx, path, o.Create, never); err != nil {
		return nil, s.classify(err)
	}
	// Before, not after: a file that is replaced in between is then found out.
	if s.file, err = exists(path); err != nil {
		return nil, err
	}
	if s.writer, err = openWriter(path); err != nil {
		return nil, s.classify(err)
	}
	if s.sidecars, err = openedBeside(path); err != nil {
		return nil, errors.Join(err, s.writer.close(false))
	}
	s.readers = openReaders(path, "ro")
	return s, nil
}

// sidecars are the ends of the names of what belongs to an open store: its log
// and its shared memory.
var sidecars = []string{"-wal", "-shm"}

// openedBeside tells which files are beside the store that was opened at path.
func openedBeside(path string) (map[string]fs.FileInfo, error) {
	files := map[string]fs.FileInfo{}
	for _, end := range sidecars {
		info, err := os.Stat(path + end)
		if err != nil {
			return nil, noAccess(path+end, err)
		}
		files[end] = info
	}
	return files, nil
}

// beWritable returns store.ErrNoAccess if the store at path, or a file beside
// it, may not be written. SQLite would find out when it has made files that it
// may not write either: it gives them the mode of the store. Such files, left
// by another program, get the mode that the store has now.
func beWritable(path string) error {
	info, err := os.Stat(path)
	if err == nil && !canWrite(path) {
		err = fs.ErrPermission
	}
	if err != nil {
		return noAccess(path, err)
	}
	for _, end := range sidecars {
		if missing(path+end) || canWrite(path+end) {
			continue
		}
		if err := os.Chmod(path+end, info.Mode().Perm()); err != nil {
			return noAccess(path+end, err)
		}
	}
	return nil
}

// othersAreSeen returns store.ErrInUse if somebody has the store open, and the
// log or the shared memory is not at its path any more: whoever opens the store
// now would make new ones, and not see the locks of the other. One that opens or
// closes the store at this moment is waited for.
func othersAreSeen(path string) error {
	for deadline := time.Now().Add(closePatience); missing(path+"-wal") || missing(path+"-shm"); {
		if !isOpen(path) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("store %s %w: the files that its users share (-wal, -shm) were removed; a run ends by itself", path, store.ErrInUse)
		}
		time.Sleep(logPoll)
	}
	return nil
}

// Close closes the store. The last one to close it merges the WAL, so that
// one file is left. Ledgers that are not finished are left as after a crash:
// the next Begin finds them abandoned.
func (s *Store) Close() error {
	errs := []error{s.readers.Close()}
	if s.writer != nil || walSize(s.path) == 0 && canWrite(s.path) {
		// Of two that close at the same moment each finds the other still
		// there, and neither removes the WAL. So they take turns; if that
		// takes too long, a leftover is the lesser evil.
		if l, err := filelock.AcquireWait(context.Background(), s.path+".lock", closePatience); err == nil {
			defer l.Release() // the kernel frees it in any case
		}
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close(s.inPlace() != nil))
	}
	errs = append(errs, tidy(s.path))
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.leases {
		errs = append(errs, l.Abandon())
	}
	clear(s.leases)
	return errors.Join(errs...)
}

// closePatience is how long Close waits for others that use the store: for
// what they do in one step, not for their end.
const closePatience = time.Second

// resolve returns the path that all names of the same file share, so that its
// lock files have one name, too.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// create makes the file and its directories, for the user's eyes only,
// whatever the umask. SQLite gives its -wal and -shm the mode of the file.
func create(path string) (fs.FileInfo, error) {
	if err := createDir(filepath.Dir(path)); err != nil {
		return nil, noAccess(path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return nil, noAccess(path, err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, noAccess(path, err)
	}
	return exists(path)
}

func createDir(dir string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := createDir(filepath.Dir(dir)); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was first
	}
	if err != nil {
		return err
	}
	// SQLite syncs the directory of the files that it makes, and never looks above.
	return errors.Join(os.Chmod(dir, 0o700), dirsync.Sync(filepath.Dir(dir))) // #nosec G302 -- a directory is entered by its x
}

// exists tells which file is at path.
func exists(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("store %s %w", path, store.ErrMissing)
	case err != nil:
		return nil, noAccess(path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("store %s %w: it is not a regular file", path, store.ErrNotDatabase)
	}
	return info, nil
}

package connect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"collect/internal/filelock"
	"collect/migrations"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/schema"
	"collect/store/sqlite/internal/fileformat"
)

// Migrate brings the database at path to the newest version. It begins with an
// empty one only if create is set, and returns store.ErrMissing otherwise.
// Processes that start at the same time take turns: goose itself, on SQLite,
// does not.
//
// Each version is one transaction, so that a process killed in the middle
// leaves the version before it, and the next one goes on from there. A test
// may fail a step by at.
func Migrate(ctx context.Context, path string, create bool, at func(database.Step) error) error {
	db := Single(path)
	defer db.Close() // what matters was committed

	have, wal, err := state(ctx, path, db)
	if err != nil || have == Newest() && wal {
		return err
	}
	if have == 0 && !create {
		return ErrEmpty(path)
	}
	l, err := filelock.AcquireWait(ctx, path+".lock", time.Minute)
	if err != nil {
		return err
	}
	defer l.Release() // the kernel frees it in any case

	have, wal, err = state(ctx, path, db)
	if err != nil || have == Newest() && wal {
		return err
	}
	if have > Newest() {
		return fmt.Errorf("the store was %w", store.ErrNewer)
	}
	if err := at("before wal"); err != nil {
		return err
	}
	// WAL mode is kept in the file. It is set here, under the lock, because
	// changing it needs the database for oneself.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if have == 0 {
		// Nothing is stored yet. The log is flushed once, when it is merged into the
		// file: by the close of db, or before the first commit of a run, which flushes
		// all of it. After a power cut the schema is made again.
		if _, err := db.ExecContext(ctx, "PRAGMA synchronous=NORMAL"); err != nil {
			return err
		}
		return schema.Whole(ctx, db, migrations.SQLiteWhole, at)
	}
	return schema.SQLite.Apply(ctx, db, at)
}

// Never fails no step.
func Never(database.Step) error { return nil }

// state returns the version of the schema of db, and whether it is in WAL
// mode, as it is but for the moment in which a restore replaces it.
func state(ctx context.Context, path string, db *sql.DB) (have int64, wal bool, err error) {
	if have, err = version(ctx, path, db); err != nil {
		return 0, false, err
	}
	var mode string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
	return have, mode == "wal", err
}

// ErrEmpty says that there is a file and nothing in it.
func ErrEmpty(path string) error {
	return fmt.Errorf("store %s %w: its file is empty", path, store.ErrMissing)
}

// Version returns the version of the schema, 0 if the file is empty; see version.
func Version(ctx context.Context, r *database.Readers) (int64, error) {
	return version(ctx, r.Name, r.DB)
}

// version returns the version of the schema of db, at path, 0 if the file is
// empty. It returns store.ErrNotDatabase if the file belongs to another
// program.
func version(ctx context.Context, path string, db *sql.DB) (int64, error) {
	var id, tables, known int64
	var name sql.NullString
	err := db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id), count(*), min(name),
			count(*) FILTER (WHERE name IN ('`+schema.Table+`', 'checkpoints', 'slices', 'leases'))
		FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`).Scan(&id, &tables, &name, &known)
	if isNotDatabase(err) {
		// Not wrapped: in a store that was open once, the same is damage.
		return 0, fmt.Errorf("store %s %w: %v", path, store.ErrNotDatabase, err)
	}
	if err != nil {
		return 0, err
	}
	// Killed inside its first start, a store has the table of goose and
	// nothing else.
	if id == 0 && (tables == 0 || tables == 1 && name.String == schema.Table) {
		return 0, nil
	}
	if id != fileformat.ApplicationID && known == 4 {
		return 0, fmt.Errorf("%w: its header does not name collect, and its tables are those of collect", store.ErrDamaged)
	}
	if id != fileformat.ApplicationID {
		return 0, fmt.Errorf("store %s %w: it belongs to another program", path, store.ErrNotDatabase)
	}
	var v int64
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+schema.Table).Scan(&v)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(store.ErrDamaged, err)
	}
	return v, err
}

// Newest returns the version that the migrations make.
func Newest() int64 { return schema.SQLite.Newest() }

// checkVersion returns store.ErrMissing, ErrNotDatabase, ErrDamaged, ErrNewer or
// ErrOlder if db, at path, does not hold a store, or not one of this version.
func checkVersion(ctx context.Context, path string, db *sql.DB) error {
	have, err := version(ctx, path, db)
	switch {
	case err != nil:
		return err
	case have == 0:
		return ErrEmpty(path)
	case have > Newest():
		return fmt.Errorf("the store was %w", store.ErrNewer)
	case have < Newest():
		return fmt.Errorf("the store was %w", store.ErrOlder)
	}
	return nil
}

// LibraryVersion returns the version of SQLite.
func LibraryVersion(ctx context.Context) (version string, err error) {
	db := open("file::memory:")
	err = db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version, errors.Join(err, db.Close())
}

// Objects returns the kinds of what migrations make, by name.
func Objects(ctx context.Context) (map[string]string, error) {
	db := open(":memory:")
	db.SetMaxOpenConns(1)
	defer db.Close() // it holds nothing
	if err := schema.SQLite.Apply(ctx, db, Never); err != nil {
		return nil, err
	}
	kinds := map[string]string{}
	rows, err := db.QueryContext(ctx, `SELECT name, type FROM sqlite_schema`)
	err = database.Each(rows, err, func(row database.Scanner) error {
		var name, kind string
		err := row.Scan(&name, &kind)
		kinds[name] = kind
		return err
	})
	return kinds, err
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"collect/internal/filelock"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/ledger"
	"collect/store/sqlite/internal/backup"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
	"collect/store/transfer"
)

// A source is a store that is copied to another one.
type source struct {
	db    *connect.DB
	tx    *sql.Tx // one state of it
	locks *locks
}

// Source opens the store at path to copy it, without changing a byte of it. It holds the
// locks of all its connectors, so that no run begins meanwhile.
//
// It returns a *store.HeldError if a run is under way, and the errors of [Open].
func Source(ctx context.Context, path string) (transfer.Source, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	db, err := connect.Look(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &source{db: db, locks: &locks{db: db, held: map[*filelock.Lock]bool{}}}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *source) begin(ctx context.Context) (err error) {
	err = transfer.Hold(ctx, s.db.Readers, s.take)
	if err == nil {
		s.tx, err = s.db.DB.BeginTx(ctx, nil)
	}
	if err != nil {
		return s.db.Classify(err)
	}
	var n int
	return s.db.Classify(s.tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n)) // from now on it sees one state
}

// take takes the lock of a connector. Where no lock can be made, none can be held.
func (s *source) take(ctx context.Context, connector string) (ledger.Lock, error) {
	l, err := s.locks.Take(ctx, connector)
	if errors.Is(err, store.ErrNoAccess) && disk.Missing(disk.LockPath(s.db.File.Path, connector)) {
		return nil, nil
	}
	return l, err
}

func (s *source) Side() transfer.Side { return transfer.Side{Readers: s.db.Readers, Rows: s.tx} }

func (s *source) Number(ctx context.Context, t transfer.Table) (n int64, err error) {
	err = s.tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?`, t.Name).Scan(&n)
	return n, s.db.Classify(err)
}

func (s *source) Close() error {
	var errs []error
	if s.tx != nil {
		errs = append(errs, s.tx.Rollback()) // nothing was written
	}
	return errors.Join(append(errs, s.locks.releaseAll(), s.db.Close())...)
}

// A target is a file that a store is copied to.
type target struct {
	path, part string
	lock       *filelock.Lock // nobody else copies there
	db         *connect.DB
}

// Target returns a place for a copy: a file that is not there yet. Until the copy is
// whole, it is in another file beside it.
func Target(path string) (transfer.Target, error) {
	path, err := disk.Resolve(path)
	if err != nil {
		return nil, err
	}
	return &target{path: path, part: path + ".part"}, nil
}

// Partial returns where a copy to path is until it is whole, and whether one was begun.
func Partial(path string) (part string, there bool) {
	path, err := disk.Resolve(path)
	if err != nil {
		return "", false
	}
	info, err := os.Lstat(path + ".part")
	return path + ".part", err == nil && info.Mode().IsRegular()
}

func (t *target) Name() string             { return t.path }
func (t *target) Writer() *database.Writer { return t.db.Writer }
func (t *target) Side() transfer.Side {
	return transfer.Side{Readers: t.db.Readers, Rows: t.db.DB}
}

func (t *target) Open(ctx context.Context) (err error) {
	if t.lock == nil {
		t.lock, err = filelock.Acquire(t.part + ".lock.copy")
		if errors.Is(err, filelock.ErrLocked) {
			return fmt.Errorf("store %s %w: another copy is being made there", t.path, store.ErrInUse)
		}
		if err != nil {
			return disk.NoAccess(t.path, err)
		}
	}
	// After the lock, which goes with this copy: one that died once it had its name left its own.
	if err := t.free(); err != nil {
		return err
	}
	t.db, err = connect.Open(ctx, t.part, true)
	return err
}

// free returns an error if the name of the copy is taken. A copy that was killed as it
// got its name may have two.
func (t *target) free() error {
	taken, err := os.Lstat(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.NoAccess(t.path, err)
	}
	if part, err := os.Lstat(t.part); err == nil && os.SameFile(taken, part) {
		if err := os.Remove(t.part); err != nil {
			return disk.NoAccess(t.part, err)
		}
	}
	if taken.IsDir() {
		return &store.OccupiedError{Name: t.path, What: "a folder", Folder: true}
	}
	return &store.OccupiedError{Name: t.path, What: "a file"}
}

func (t *target) Insert(tx database.Tx, table string, columns []string, rows [][]any) error {
	statement := fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, table, strings.Join(columns, ", "), strings.Repeat(", ?", len(columns))[2:])
	for _, row := range rows {
		if err := tx.Exec(statement, row...); err != nil {
			return err
		}
	}
	return nil
}

// SetNumber sets the number where SQLite keeps one. Elsewhere it is one more than that of
// the newest row.
func (t *target) SetNumber(tx database.Tx, table transfer.Table, n int64) error {
	return tx.Exec(`UPDATE sqlite_sequence SET seq = ? WHERE name = ?`, n, table.Name)
}

func (t *target) Discard(context.Context) error {
	err := t.db.Close()
	t.db = nil
	disk.Remove(t.part)
	return err
}

func (t *target) Publish(ctx context.Context, mark func(database.Tx) error) error {
	err := t.db.Writer.Update(ctx, mark, func(database.Tx) (bool, error) { return false, nil })
	if err != nil {
		return err
	}
	err = t.db.Close()
	t.db = nil
	if err != nil {
		return err
	}
	if disk.LogSize(t.part) > 0 {
		return fmt.Errorf("store %s %w: another program reads it", t.part, store.ErrInUse)
	}
	return backup.Place(t.part, t.path)
}

func (t *target) Close() error {
	var errs []error
	if t.db != nil {
		errs = append(errs, t.db.Close())
	}
	if t.lock != nil {
		errs = append(errs, t.lock.Release())
	}
	return errors.Join(errs...)
}

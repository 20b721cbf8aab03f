package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"collect/store"
	"collect/store/internal/database"
	"collect/store/postgres/internal/server"
	"collect/store/transfer"
)

// A source is a store that is copied to another one.
type source struct {
	db *server.DB
	tx *sql.Tx // one state of it
}

// Source opens the store at an address to copy it, without changing anything in it. It holds
// the locks of all its connectors, so that no run begins meanwhile.
//
// It returns a *store.HeldError if a run is under way, and the errors of [Open].
func Source(ctx context.Context, address string) (transfer.Source, error) {
	at, err := server.Parse(address)
	if err != nil {
		return nil, err
	}
	look, err := server.Look(ctx, at) // which upgrades nothing
	if err == nil {
		err = look.Close()
	}
	if err != nil {
		return nil, err
	}
	db, err := server.Open(ctx, at, false)
	if err != nil {
		return nil, err
	}
	s := &source{db: db}
	if err = transfer.Hold(ctx, db.Readers, (&locks{db}).Take); err == nil {
		s.tx, err = db.Snapshot(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *source) Side() transfer.Side { return transfer.Side{Readers: s.db.Readers, Rows: s.tx} }

func (s *source) Number(ctx context.Context, t transfer.Table) (n int64, err error) {
	err = s.tx.QueryRowContext(ctx, `SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(?, ?)::regclass), 0)`, t.Name, t.Numbers()).Scan(&n)
	return n, s.db.Classify(err)
}

func (s *source) Close() error {
	var errs []error
	if s.tx != nil {
		errs = append(errs, s.db.Classify(s.tx.Rollback())) // nothing was written
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// A target is a schema that a store is copied to.
type target struct {
	final, part server.Address
	db          *server.DB
}

// Target returns a place for a copy: a schema that is not there yet, or is empty. Until the
// copy is whole, it is in another schema.
func Target(address string) (transfer.Target, error) {
	at, err := server.Parse(address)
	if err != nil {
		return nil, err
	}
	return &target{final: at, part: at.Partial()}, nil
}

// Partial returns the schema that a copy to an address is in until it is whole, and whether one was begun.
func Partial(ctx context.Context, address string) (schema string, there bool, err error) {
	at, err := server.Parse(address)
	if err != nil {
		return "", false, err
	}
	part := at.Partial()
	there, err = part.Taken(ctx)
	return part.Schema, there, err
}

func (t *target) Name() string             { return t.final.Name }
func (t *target) Writer() *database.Writer { return t.db.Writer }
func (t *target) Side() transfer.Side {
	return transfer.Side{Readers: t.db.Readers, Rows: t.db.DB}
}

func (t *target) Open(ctx context.Context) (err error) {
	taken, err := t.final.Taken(ctx)
	if err != nil {
		return err
	}
	if taken {
		return &store.OccupiedError{Name: t.final.Name, What: "a schema " + t.final.Schema + " with tables"}
	}
	if t.db, err = server.Open(ctx, t.part, true); err != nil {
		return err
	}
	return t.hold(ctx)
}

// killed is how long the session of a copy that was killed may stay: the server notices when
// it has done what it is at.
const killed = 10 * time.Second

// hold keeps others from copying there, until the session ends.
func (t *target) hold(ctx context.Context) error {
	for deadline := time.Now().Add(killed); ; {
		free, err := t.db.Turns.Hold(ctx, "copy")
		if err != nil || free {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("store %s %w: another copy is being made there", t.final.Name, store.ErrInUse)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (t *target) Insert(_ database.Tx, table string, columns []string, rows [][]any) error {
	return t.db.CopyIn(table, columns, rows)
}

func (t *target) SetNumber(tx database.Tx, table transfer.Table, n int64) error {
	var set int64
	return tx.Row(`SELECT setval(pg_get_serial_sequence(?1, ?2)::regclass, greatest(?3::bigint, 1), ?3::bigint > 0)`, table.Name, table.Numbers(), n).Scan(&set)
}

func (t *target) Discard(ctx context.Context) error {
	err := t.db.Close()
	t.db = nil
	return errors.Join(err, t.part.Drop(ctx))
}

func (t *target) Publish(ctx context.Context, mark func(database.Tx) error) error {
	return t.db.Writer.Update(ctx, func(tx database.Tx) error {
		if err := mark(tx); err != nil {
			return err
		}
		return t.part.Rename(tx, t.final)
	}, t.final.There)
}

func (t *target) Close() error {
	if t.db == nil {
		return nil
	}
	return t.db.Close()
}

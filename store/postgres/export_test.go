package postgres

import (
	"context"
	"database/sql"

	"collect/store/internal/database"
)

// The steps of a transaction that can fail.
const (
	BeforeCommit = database.BeforeCommit
	AfterCommit  = database.AfterCommit
	ReadBack     = database.ReadBack
)

// At calls do when s reaches a step for the first time, and fails it with the error that do returns.
func At(s *Store, step database.Step, do func() error) {
	done := false
	s.db.Writer.Fault = func(at database.Step) error {
		if done || at != step {
			return nil
		}
		done = true
		return do()
	}
}

// Session returns the number of the session of the server that writes for s.
func Session(s *Store) (pid int, err error) {
	return pid, s.db.Writer.Conn.QueryRowContext(context.Background(), "SELECT pg_backend_pid()").Scan(&pid)
}

// Sessions returns new sessions at the server of s.
func Sessions(s *Store) *sql.DB { return s.db.Turns.Pool() }

// Exec runs a statement in a session of its own.
func Exec(s *Store, query string, args ...any) error {
	pool := Sessions(s)
	defer pool.Close()
	_, err := pool.Exec(query, args...)
	return err
}

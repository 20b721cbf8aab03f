package postgres_test

import (
	"database/sql"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"collect/internal/pgtest"
	"collect/pacing/coordinator"
	"collect/pacing/coordinator/coordinatortest"
	"collect/pacing/coordinator/postgres"
)

func open(t *testing.T, dsn string, rules coordinator.Rules) coordinator.Coordinator {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, statement := range []string{postgres.Schema, "TRUNCATE in_flight_budgets"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	c, err := postgres.New(db, rules)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// server is a Postgres whose outages a test can make.
type server struct {
	*pgtest.Server
	t    *testing.T
	db   *sql.DB
	lock *sql.Tx
}

func (s *server) Kill() { s.End(syscall.SIGQUIT) } // at once, without a word to the disk

func (s *server) Start() {
	if err := s.Begin("fsync=off"); err != nil {
		s.t.Fatal(err)
	}
}

// Halt has each report wait, until Continue.
func (s *server) Halt() {
	var err error
	if s.lock, err = s.db.Begin(); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.lock.Exec("LOCK TABLE in_flight_budgets"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) Continue() {
	if err := s.lock.Rollback(); err != nil {
		s.t.Error(err)
	}
}

func TestPostgres(t *testing.T) {
	started, err := pgtest.Start("fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Remove)
	dsn := started.Address("public")
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	server := &server{Server: started, t: t, db: db}
	coordinatortest.Test(t, server, func(t *testing.T, rules coordinator.Rules) coordinator.Coordinator {
		return open(t, dsn, rules)
	})
	t.Run("old memory", func(t *testing.T) {
		coordinatortest.OldMemory(t, open(t, dsn, coordinator.Rules{}), func(key string) {
			const update = `UPDATE in_flight_budgets SET state = state || '{"server": "another"}' WHERE key = $1`
			if _, err := db.ExecContext(t.Context(), update, key); err != nil {
				t.Fatal(err)
			}
		})
	})
}

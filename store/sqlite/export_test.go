package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"

	"collect/store"
	"collect/store/internal/checkpoints"
	"collect/store/internal/database"
	"collect/store/internal/gaps"
	"collect/store/internal/records"
	"collect/store/sqlite/internal/backup"
	"collect/store/sqlite/internal/connect"
	"collect/store/sqlite/internal/disk"
)

// The steps of a transaction that can fail.
const (
	BeforeBegin  = database.BeforeBegin
	BeforeCommit = database.BeforeCommit
	AfterCommit  = database.AfterCommit
	ReadBack     = database.ReadBack
)

// The steps of a restore at which a test looks.
const (
	RestoreClosed = backup.RestoreClosed
	RestoreKept   = backup.RestoreKept
)

// A Step is a moment of a transaction.
type Step = database.Step

// FailAt fails each of the given steps of s once, with err. It returns how
// many of them were not reached yet.
func FailAt(s *Store, err error, steps ...Step) (left func() int) {
	pending := map[Step]bool{}
	for _, at := range steps {
		pending[at] = true
	}
	s.db.Writer.Fault = func(at Step) error {
		if !pending[at] {
			return nil
		}
		delete(pending, at)
		return err
	}
	return func() int { return len(pending) }
}

// FailAlways makes s fail at a step with err whenever it reaches it.
func FailAlways(s *Store, err error, step Step) {
	s.db.Writer.Fault = func(at Step) error {
		if at != step {
			return nil
		}
		return err
	}
}

// KillAt kills this process, as kill -9 does, when s reaches a step.
func KillAt(s *Store, step Step) {
	s.db.Writer.Fault = func(at Step) error {
		if at != step {
			return nil
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Kill(); err != nil {
			return err
		}
		select {} // until it is dead
	}
}

// LimitPages lets the database of s grow by n pages and no more.
func LimitPages(s *Store, n int) error {
	ctx := context.Background()
	var pages int
	if err := s.db.Writer.Conn.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		return err
	}
	_, err := s.db.Writer.Conn.ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages+n))
	return err
}

// SetPatience sets how long a write of s waits for others.
func SetPatience(s *Store, d time.Duration) { s.db.Turns.Most = d }

// Patience returns how many milliseconds the newest write of s would have
// waited for others.
func Patience(s *Store) (ms int, err error) {
	return ms, s.db.Writer.Conn.QueryRowContext(context.Background(), "PRAGMA busy_timeout").Scan(&ms)
}

// OccupyReaders takes all connections of the readers of s. The store waits for
// one when waiting is true.
func OccupyReaders(ctx context.Context, s *Store) (waiting func() bool, release func(), err error) {
	var held []*sql.Conn
	release = func() {
		for _, c := range held {
			c.Close()
		}
	}
	for range connect.PoolSize {
		c, err := s.db.Readers.DB.Conn(ctx)
		if err != nil {
			release()
			return nil, nil, err
		}
		held = append(held, c)
	}
	return func() bool { return s.db.Readers.DB.Stats().WaitCount > 0 }, release, nil
}

// Migrate makes or upgrades the store at path. It calls at at each step, and
// ends with its error.
func Migrate(ctx context.Context, path string, at func(Step) error) error {
	return connect.Migrate(ctx, path, true, at)
}

// BackupSteps and RestoreSteps do as Backup and Restore do. They call at at
// each step, and end with its error.
func BackupSteps(ctx context.Context, s *Store, path string, at func(Step) error) error {
	return backup.Write(ctx, s.db, path, true, at)
}

func RestoreSteps(ctx context.Context, path, from string, at func(Step) error) (string, error) {
	return backup.Restore(ctx, path, from, store.Audit{Who: "kim", Why: "again"}, at)
}

// Names, for tests that hold them against each other.
var (
	LockPath = disk.LockPath
	Single   = connect.Single
	Newest   = connect.Newest
)

// Queries are those that run for each slice or page.
var Queries = map[string]string{
	"place":    checkpoints.PlaceQuery,
	"places":   checkpoints.PlacesQuery,
	"stand":    checkpoints.StandQuery,
	"one":      checkpoints.StandOneQuery,
	"open":     gaps.OpenQuery,
	"gap":      gaps.Query + gaps.OwedHere,
	"planned":  gaps.Query + gaps.PlannedHere,
	"eligible": gaps.Query + gaps.Eligible,
	"leased":   gaps.Query + gaps.LeasedHere,
	"page":     fmt.Sprintf(records.PageQuery, ">"),
	"parents":  records.ParentsQuery,
}

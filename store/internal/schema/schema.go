// Package schema brings the schema of a database to its newest version.
package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"collect/migrations"
	"collect/store/internal/database"
)

// Table is the table that has the versions which a database has seen.
const Table = goose.DefaultTablename

// Migrations are those of one dialect.
type Migrations struct {
	dialect goose.Dialect
	files   fs.FS
	pattern string
}

// The migrations there are.
var (
	SQLite   = Migrations{goose.DialectSQLite3, migrations.SQLite, "sqlite/*.sql"}
	Postgres = Migrations{goose.DialectPostgres, migrations.Postgres, "postgres/*.sql"}
)

// Newest returns the version that the migrations make.
func (m Migrations) Newest() int64 {
	names, _ := fs.Glob(m.files, m.pattern) // the pattern is well formed
	var n int64
	for _, name := range names {
		if version, err := goose.NumericComponent(name); err == nil {
			n = max(n, version)
		}
	}
	return n
}

// Apply applies the migrations that db has not seen, one by one, each in a
// transaction. A test may fail a step by at.
func (m Migrations) Apply(ctx context.Context, db *sql.DB, at func(database.Step) error) error {
	versions, err := m.versions()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(m.dialect, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(versions...))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	for {
		if err := at("before a version"); err != nil {
			return err
		}
		_, err := provider.UpByOne(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("migrations: %w", err)
		}
		if err := at("after a version"); err != nil {
			return err
		}
	}
}

// Whole makes the newest version in db, in which nothing is stored, in one transaction. A
// test may fail a step by at.
func Whole(ctx context.Context, db *sql.DB, text string, at func(database.Step) error) error {
	if err := at("before a version"); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // of what was not committed
	// A first start that was killed may have left the table of goose.
	if _, err := tx.ExecContext(ctx, "DROP TABLE IF EXISTS "+Table+";\n"+text); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return at("after a version")
}

// versions returns the migrations. The database splits a file into its statements:
// the parser of goose does so in three buffers of 4 MiB, which it keeps, and which
// are more than all else that a small run has in memory.
func (m Migrations) versions() ([]*goose.Migration, error) {
	files, err := fs.Glob(m.files, m.pattern)
	if err != nil {
		return nil, err
	}
	versions := make([]*goose.Migration, len(files))
	for i, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, err
		}
		up := func(ctx context.Context, tx *sql.Tx) error {
			text, err := fs.ReadFile(m.files, file)
			if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, string(text))
			return err
		}
		versions[i] = goose.NewGoMigration(version, &goose.GoFunc{RunTx: up}, nil)
	}
	return versions, nil
}

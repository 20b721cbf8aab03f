package storage

import (
	"context"
	"time"

	"collect/export"
	"collect/store"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// A Copier is a store that can be copied to a file while others write to it; see
// [sqlite.Store.Backup].
type Copier interface {
	Backup(ctx context.Context, path string, replace bool) error
}

// A Describer is a store that says in SQL how its tables are made.
type Describer interface {
	Schema(ctx context.Context) (string, error)
}

// A File is a store that is one file. What is done with it here needs no store
// that can be opened.
type File interface {
	// Examine says how the store is; see [salvage.Examine].
	Examine(ctx context.Context) (Report, error)

	// Salvage reads what a damaged store still holds; see [salvage.Open].
	Salvage(ctx context.Context) (Salvaged, error)

	// Restore puts a backup in the place of the store; see [sqlite.Restore].
	Restore(ctx context.Context, backup string, audit store.Audit) (kept string, err error)

	// Beside returns a path beside the file that is free; see [sqlite.Beside].
	Beside(what string, now time.Time) string
}

// A Report says how a store is that is a file.
type Report = salvage.Report

// A Salvaged is what a damaged store still holds.
type Salvaged interface {
	export.Source

	// Streams returns the pairs of a connector and a stream.
	Streams() [][2]string

	// Count returns how many records of a stream were found, and how many it had.
	Count(connector, stream string) (found, had int64)
	Close() error
}

// FileOf returns the file that the store name is kept in; nil if it is kept on a
// database server.
func FileOf(name string) File {
	if !IsFile(name) {
		return nil
	}
	return file(name)
}

// A file is the path of a SQLite database.
type file string

func (f file) Examine(ctx context.Context) (Report, error) { return salvage.Examine(ctx, string(f)) }

func (f file) Salvage(ctx context.Context) (Salvaged, error) {
	found, err := salvage.Open(ctx, string(f))
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (f file) Restore(ctx context.Context, backup string, audit store.Audit) (string, error) {
	return sqlite.Restore(ctx, string(f), backup, audit)
}

func (f file) Beside(what string, now time.Time) string { return sqlite.Beside(string(f), what, now) }

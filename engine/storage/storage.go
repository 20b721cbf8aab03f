// Package storage opens the store that a name stands for: the path of a SQLite file, or
// the address of a Postgres database. It alone knows which kinds of store there are.
// Everything else works with [store.Store], and asks for what not every kind has: [Copier],
// [Describer], and [FileOf].
package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
	"collect/store/postgres"
	"collect/store/sqlite"
	"collect/store/sqlite/salvage"
)

// IsFile reports whether a name is that of a file. What has the form of an address is
// none, in whatever way it is written: it may have a password in it, which must not
// become the name of a file.
func IsFile(name string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(name), ":")
	return scheme != "postgres" && scheme != "postgresql" && !strings.Contains(name, "://")
}

// Check returns an error if name cannot be that of a store. It opens nothing, and the
// error shows no part of an address, which may have a password in it.
func Check(name string) error {
	if IsFile(name) {
		return nil
	}
	return postgres.Check(name)
}

// Dump is the command that backs up a store on a database server.
func Dump(address string) string {
	name, schema := parts(address)
	return "pg_dump --format=custom --file=collect.dump --schema=" + schema + " --dbname=" + name
}

// Undump is the command that brings back what [Dump] wrote, while nothing uses the store.
// It names no schema: pg_restore would then not create it where it is not there.
func Undump(address string) string {
	name, _ := parts(address)
	return "pg_restore --clean --if-exists --dbname=" + name + " collect.dump"
}

// Vacuum is the command that gives the free bytes of a store on a database server back
// to its disk, while nothing uses it.
func Vacuum(address string) string {
	name, _ := parts(address)
	return "vacuumdb --full --dbname=" + name
}

// parts returns the parts of an address that was checked, as a shell reads them.
func parts(address string) (name, schema string) {
	name, schema, _ = postgres.Parts(address)
	return words.Quoted(name), words.Quoted(schema)
}

// Look opens a store to read from it. Like the others here, it must be called
// while no store of this process is open there; see [salvage.CheckLog].
func Look(ctx context.Context, name string) (store.Store, error) {
	if !IsFile(name) {
		return served(ctx, name, postgres.Options{ReadOnly: true})
	}
	return open(ctx, name, false, sqlite.Options{ReadOnly: true})
}

// Open opens a store for a change that a person orders.
func Open(ctx context.Context, name string) (store.Store, error) {
	if !IsFile(name) {
		return served(ctx, name, postgres.Options{})
	}
	return open(ctx, name, false, sqlite.Options{})
}

// A Missing says what becomes of a store that does not exist yet.
type Missing int

// What becomes of it.
const (
	MustExist      Missing = iota // it is store.ErrMissing
	CreateInFolder                // it is created in a folder, or a database of a server, that exists; without the folder it is a *[problem.NoFolderError]
	CreateAll                     // it is created, and so are the folders it is in
)

// OpenForRun opens a store for a run, and reports whether it was created.
//
// Where the newest commits may be lost, the run goes on from the last that is
// there, and collects the others again: a power cut needs no person.
func OpenForRun(ctx context.Context, name string, missing Missing) (db store.Store, created bool, err error) {
	if !IsFile(name) {
		db, err = served(ctx, name, postgres.Options{})
		if errors.Is(err, store.ErrMissing) && missing != MustExist && !problem.CopyBegun(err) {
			db, err = served(ctx, name, postgres.Options{Create: true})
			created = err == nil
		}
		return db, created, err
	}
	_, err = os.Stat(name)
	created = errors.Is(err, fs.ErrNotExist)
	if created {
		if found := begun(ctx, name, fmt.Errorf("store %s %w", name, store.ErrMissing)); problem.CopyBegun(found) {
			return nil, false, found
		}
	}
	if created && missing == CreateInFolder {
		if err := inFolder(name); err != nil {
			return nil, false, err
		}
	}
	db, err = open(ctx, name, true, sqlite.Options{Create: missing != MustExist})
	return db, created, err
}

// inFolder returns a *[problem.NoFolderError] if the folder of a file does not exist.
func inFolder(name string) error {
	dir := filepath.Dir(name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return &problem.NoFolderError{Dir: dir}
	}
	return nil
}

// served opens a store on a database server.
func served(ctx context.Context, address string, o postgres.Options) (store.Store, error) {
	if err := postgres.Check(address); err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, address, o)
	if err != nil {
		return nil, begun(ctx, address, err)
	}
	return db, nil
}

// open opens a store that is a file. With doubtful it does so also where the newest
// commits may be lost.
func open(ctx context.Context, name string, doubtful bool, o sqlite.Options) (store.Store, error) {
	if err := salvage.CheckLog(name); err != nil && !(doubtful && errors.Is(err, store.ErrDoubtful)) {
		return nil, err
	}
	db, err := sqlite.Open(ctx, name, o)
	if err != nil {
		return nil, begun(ctx, name, err)
	}
	return db, nil
}

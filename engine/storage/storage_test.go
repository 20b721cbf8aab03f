package storage_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"collect/engine/storage"
	"collect/report/problem"
	"collect/store"
)

func TestOpen(t *testing.T) {
	there := filepath.Join(t.TempDir(), "state.db")
	db, created, err := storage.OpenForRun(t.Context(), there, storage.CreateInFolder)
	if err != nil || !created {
		t.Fatalf("OpenForRun = created %t, %v", created, err)
	}
	if _, ok := db.(storage.Copier); !ok {
		t.Error("a store that is a file cannot be copied")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(context.Context, string) (store.Store, error){"Look": storage.Look, "Open": storage.Open} {
		db, err := open(t.Context(), there)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if db, err := open(t.Context(), there+"?"); !errors.Is(err, store.ErrMissing) || db != nil {
			t.Errorf("%s of a store that is not there = %v, %v", name, db, err)
		}
		if db, err := open(t.Context(), "postgres://127.0.0.1:1/db"); !errors.Is(err, store.ErrUnreachable) || db != nil {
			t.Errorf("%s of a server that is away = %v, %v", name, db, err)
		}
		if db, err := open(t.Context(), "postgres://u:hunter2@127.0.0.1:1/db"); err == nil || errors.Is(err, store.ErrUnreachable) || strings.Contains(err.Error(), "hunter2") || db != nil {
			t.Errorf("%s of an address with a password = %v, %v", name, db, err)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "new", "state.db")
	if _, _, err := storage.OpenForRun(t.Context(), elsewhere, storage.MustExist); !errors.Is(err, store.ErrMissing) {
		t.Errorf("MustExist: %v", err)
	}
	if _, _, err := storage.OpenForRun(t.Context(), elsewhere, storage.CreateInFolder); !isNoFolder(err) {
		t.Errorf("CreateInFolder: %v", err)
	}
	db, created, err = storage.OpenForRun(t.Context(), elsewhere, storage.CreateAll)
	if err != nil || !created {
		t.Fatalf("CreateAll: created %t, %v", created, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func isNoFolder(err error) bool {
	_, ok := errors.AsType[*problem.NoFolderError](err)
	return ok
}

func TestFileOf(t *testing.T) {
	for name, want := range map[string]bool{
		"state.db": true, "C:\\state.db": true, "postgresql://server/db": false,
		"Postgres://u:hunter2@server/db": false, "mysql://u:hunter2@server/db": false,
	} {
		if _, ok := storage.FileOf(name); ok != want {
			t.Errorf("FileOf(%s) = %t, want %t", name, ok, want)
		}
	}
}

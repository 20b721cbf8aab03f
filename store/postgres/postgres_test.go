package postgres_test

import (
	"os"
	"sync"
	"testing"

	"collect/internal/pgtest"
	"collect/store"
	"collect/store/postgres"
	"collect/store/storetest"
)

// server is that of all tests of the package but those that end one.
var server *pgtest.Server

func TestMain(m *testing.M) {
	os.Exit(pgtest.Run(m, &server))
}

// address returns the address of a store that is not there yet.
func address() string { return server.Fresh() }

func TestStore(t *testing.T) {
	var addresses sync.Map
	storetest.Test(t, func(t *testing.T) store.Store {
		at, _ := addresses.LoadOrStore(t.Name(), address())
		return open(t, at.(string), postgres.Options{Create: true})
	})
}

// open opens a store that the test closes.
func open(t testing.TB, at string, o postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), at, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

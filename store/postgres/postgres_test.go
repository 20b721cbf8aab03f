package postgres_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"collect/internal/pgtest"
	"collect/store"
	"collect/store/postgres"
	"collect/store/storetest"
)

// server is that of all tests of the package but those that end one.
var server *pgtest.Server

func TestMain(m *testing.M) {
	var err error
	if server, err = pgtest.Start("fsync=off"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	server.Remove()
	os.Exit(code)
}

var schemas atomic.Int64

// address returns the address of a store that is not there yet.
func address() string { return server.Address(fmt.Sprintf("test_%d", schemas.Add(1))) }

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

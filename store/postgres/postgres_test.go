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

// TestStore: numbers are given three apart, as where runs of other connectors take those between.
func TestStore(t *testing.T) {
	var addresses sync.Map
	storetest.Test(t, func(t *testing.T) store.Store {
		at, known := addresses.LoadOrStore(t.Name(), address())
		s := open(t, at.(string), postgres.Options{Create: true})
		if !known {
			if err := postgres.Exec(s, "ALTER SEQUENCE records_id_seq INCREMENT BY 3; ALTER SEQUENCE slices_id_seq INCREMENT BY 3"); err != nil {
				t.Fatal(err)
			}
		}
		return s
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

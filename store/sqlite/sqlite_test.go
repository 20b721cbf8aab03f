package sqlite_test

import (
	"path/filepath"
	"sync"
	"testing"

	"collect/store"
	"collect/store/sqlite"
	"collect/store/storetest"
)

func TestStore(t *testing.T) {
	var paths sync.Map
	storetest.Test(t, func(t *testing.T) store.Store {
		path, ok := paths.Load(t.Name())
		if !ok {
			path = filepath.Join(t.TempDir(), "state.db")
			paths.Store(t.Name(), path)
		}
		return open(t, path.(string), sqlite.Options{Create: true})
	})
}

// open opens a store that the test closes.
func open(t testing.TB, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// slow skips a test of many processes, many copies, much data or each of many faults where a quick
// look will do, as with the race detector: nothing in them meets.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
}

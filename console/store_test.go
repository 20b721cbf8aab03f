package console_test

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"collect/console"
	"collect/engine/storage"
	"collect/store"
)

// TestLookingIsFree: no page changes a byte of the store, or leaves a file beside it.
func TestLookingIsFree(t *testing.T) {
	path := acme(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, path, nil)
	b := s.signIn(t, console.Operator)
	for _, page := range pages {
		says(t, s.get(t, b, page), http.StatusOK)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the store is not what it was")
	}
	if beside, _ := filepath.Glob(path + "*"); len(beside) != 1 {
		t.Errorf("files beside the store: %v", beside)
	}
}

// TestStoreTrouble: a store that cannot be shown has a page that says what to do.
func TestStoreTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		do    func(t *testing.T, path string)
		texts []string
	}{
		"gone":      {func(t *testing.T, path string) { os.Remove(path) }, []string{"There is no database"}},
		"no store":  {func(t *testing.T, path string) { os.WriteFile(path, []byte("hello, this is a letter"), 0o600) }, []string{"What to do"}},
		"newer":     {func(t *testing.T, path string) { fromTheFuture(t, path) }, []string{"newer"}},
		"damaged":   {func(t *testing.T, path string) { cut(t, path) }, []string{"damaged"}},
		"no rights": {func(t *testing.T, path string) { os.Remove(path); os.Mkdir(path, 0o700) }, []string{"What to do"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := acme(t)
			s := start(t, path, nil)
			b := s.signIn(t, console.Operator)
			test.do(t, path)
			for _, page := range []string{"/", "/gaps", "/runs"} {
				says(t, s.get(t, b, page), http.StatusServiceUnavailable, test.texts...)
			}
			says(t, s.get(t, b, "/readyz"), http.StatusServiceUnavailable)
			says(t, s.get(t, b, "/healthz"), http.StatusOK)
		})
	}
}

// TestNoStoreYet: at the usual place there may be none, and each page says how to begin.
func TestNoStoreYet(t *testing.T) {
	s := start(t, filepath.Join(t.TempDir(), "none.db"), func(c *console.Config) { c.Named = false })
	b := s.signIn(t, console.Operator)
	says(t, s.get(t, b, "/"), http.StatusOK, "Nothing was collected yet", "collect run")
	for _, page := range []string{"/connectors", "/providers", "/runs", "/gaps"} {
		says(t, s.get(t, b, page), http.StatusOK)
	}
	says(t, s.get(t, b, "/connectors/x"), http.StatusNotFound)
}

// TestLibrary: the store is open only while somebody looks, so that it can be replaced
// between two pages.
func TestLibrary(t *testing.T) {
	path, other := acme(t), acme(t)
	l := console.NewLibrary(path)
	names := func() int {
		n := 0
		if err := l.Look(t.Context(), func(db store.Reader) error {
			names, err := db.Connectors(t.Context())
			n = len(names)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := names(); n != 1 {
		t.Fatalf("%d connectors", n)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	empty, _, err := storage.OpenForRun(context.Background(), other, storage.CreateInFolder)
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	stamp := l.Stamp()
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if n := names(); n != 0 {
		t.Errorf("after it was replaced: %d connectors", n)
	}
	if l.Stamp() == stamp {
		t.Error("another store has the same stamp")
	}
}

// fromTheFuture makes a store look as if a later version had made it.
func fromTheFuture(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"); err != nil {
		t.Fatal(err)
	}
}

// cut takes the second half of a file away.
func cut(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCare: the first page says when the store was backed up, and claims nothing that
// is not on record.
func TestCare(t *testing.T) {
	path := acme(t)
	s := start(t, path, nil)
	b := s.signIn(t, console.Viewer)
	says(t, s.get(t, b, "/"), http.StatusOK, `Last backup</dt><dd><span class="unknown">not on record`,
		`Last restore drill</dt><dd><span class="unknown">not on record`, "collect backup FILE",
		`Refusals a minute <small>newest run</small></h2>`, `acme</a></dt><dd><span class="unknown">not measured`)
	file := storage.File(path)
	if err := file.Note(t.Context(), store.Copies{BackedUp: time.Now().Add(-72 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	says(t, s.get(t, b, "/"), http.StatusOK, ">3 days ago</time>", "collect restore FILE --drill")
	if err := file.Note(t.Context(), store.Copies{Drilled: time.Now().Add(-2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	says(t, s.get(t, b, "/settings"), http.StatusOK, ">3 days ago</time>", ">2 h ago</time>")
}

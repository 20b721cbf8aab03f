package console_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"collect/console"
	"collect/engine/registry"
)

// A database that is open is not opened once more to find the file of a connector: closing
// it would free the locks of the first.
func TestPagesOpenTheStoreOnce(t *testing.T) {
	path, meet := filepath.Join(t.TempDir(), "state.db"), t.TempDir()
	large(t, path, 2, 4)
	if err := os.WriteFile(filepath.Join(meet, "salt"), make([]byte, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, path, func(c *console.Config) {
		c.Meeting.Dir = meet
		c.Meeting.Registry = &registry.Registry{Env: func(string) string { return "" }, Remembered: func(_ context.Context, name string) (string, []string, error) {
			t.Errorf("the database was asked once more for %s", name)
			return "", nil, nil
		}}
	})
	viewer := s.signIn(t, console.Viewer)
	for _, page := range []string{"/", "/connectors/connector-001", "/gaps", "/providers"} {
		answer := s.get(t, viewer, page)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", page, answer.Status)
		}
	}
}

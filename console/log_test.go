package console_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"collect/console"
)

// Each request is in the log, without its query: that of a link signs in.
func TestLog(t *testing.T) {
	var log bytes.Buffer
	c := start(t, filepath.Join(t.TempDir(), "state.db"), func(c *console.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	r := httptest.NewRequest("GET", "/login?link=a-secret", nil)
	r.Host = "localhost"
	c.console.ServeHTTP(httptest.NewRecorder(), r)
	if got := log.String(); !strings.Contains(got, "level=DEBUG msg=console.request method=GET path=/login status=403 seconds=") || strings.Contains(got, "secret") {
		t.Errorf("the log is %q", got)
	}
}

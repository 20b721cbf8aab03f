//go:build unix

package live_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"collect/cmd/internal/live"
)

// TestStyle: a priority is in front only where journald reads, and not where a unit, or
// what it starts, writes into a file.
func TestStyle(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, _ := file.Stat()
	stat := info.Sys().(*syscall.Stat_t)
	own := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	for _, tc := range []struct {
		stream string
		want   live.Style
	}{{own, live.Journald}, {"8:1", live.Stamped}, {"", live.Stamped}} {
		env := func(string) string { return tc.stream }
		if got := live.StyleOf(env, file); got != tc.want {
			t.Errorf("JOURNAL_STREAM=%s: %s, want %s", tc.stream, got, tc.want)
		}
		if got := live.StyleOf(env, &bytes.Buffer{}); got != live.Stamped {
			t.Errorf("no file: %s", got)
		}
	}
	if got, want := live.Journald.Prioritized("error: a\n\n  do b\n", true), "<3>error: a\n<3>  do b\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := live.Stamped.Prioritized("a\n", true); got != "a\n" {
		t.Errorf("%q", got)
	}
}

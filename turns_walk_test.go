package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWalksKeepTheirToken collects with tokens to which walks are bound, of which one is
// revoked while the run goes on: its walks are owed, the others come whole, the run
// is no success, and once the token works again, the next run has the rest.
func TestWalksKeepTheirToken(t *testing.T) {
	binary := build(t)
	b := &bureau{items: 60, page: 20, perSecond: 1000, window: map[string]time.Time{}, left: map[string]int{}, silent: map[string]time.Time{}, answered: map[string]int{}, rejected: map[string]int{}}
	b.at = func(total int) {
		if total == 20 {
			b.revoked = "second-token-77c2"
		}
	}
	server := httptest.NewServer(b)
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "bureau.yaml")
	spec := strings.Replace(fmt.Sprintf(bureauFile, server.URL), "provider:\n", "provider:\n  turns: walk\n  pace: off\n", 1)
	spec = strings.NewReplacer("  start_per_second: 15\n", "", "  ceiling: {per_second: 40}\n", "").Replace(spec)
	if err := os.WriteFile(file, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	collect := func(args ...string) (string, int) {
		c := exec.Command(binary, append(args, "--state", filepath.Join(dir, "state.db"))...)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "xdg"),
			"BUREAU_1=first-token-5a1e", "BUREAU_2=second-token-77c2", "BUREAU_3=third-token-90fd")
		out, err := c.CombinedOutput()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if err != nil && !ok {
			t.Fatal(err)
		}
		if ok {
			return string(out), exit.ExitCode()
		}
		return string(out), 0
	}
	details := func() int {
		c := exec.Command(binary, "export", file, "details", "--state", filepath.Join(dir, "state.db"))
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(out, []byte("\n"))
	}
	said, code := collect("run", file, "--create")
	first := details()
	if code != 77 || !strings.Contains(said, "W0616") || !strings.Contains(said, "secret from env BUREAU_2\n") || strings.Contains(said, "not tried") {
		t.Errorf("the first run: exit code %d, want 77, W0616, and that it is the token of BUREAU_2:\n%s", code, said)
	}
	b.mu.Lock()
	rejected, answered := b.rejected["second-token-77c2"], b.answered["second-token-77c2"]
	b.mu.Unlock()
	if first < 30 || first == 60 || answered == 0 || rejected == 0 || rejected > 16 {
		t.Errorf("%d of 60 details came; the revoked token was answered %d times and rejected %d times; want the details of the others, and what was in flight", first, answered, rejected)
	}
	owed, _ := collect("gaps", file, "--jq", ".[] | .detail")
	if strings.Count(owed, "\n") != 1 || !strings.Contains(owed, "walks wait for the account of env BUREAU_2") {
		t.Errorf("owed is %q, want one gap for all walks of BUREAU_2", owed)
	}
	said, code = collect("run", file)
	if again := details(); again != first || code != 77 {
		t.Errorf("with the token still revoked: %d details, exit code %d, want %d and 77:\n%s", again, code, first, said)
	}
	b.mu.Lock()
	b.revoked = "none"
	b.mu.Unlock()
	said, code = collect("run", file)
	owed, _ = collect("gaps", file, "--jq", ".[]")
	if all := details(); all != 60 || code != 0 || owed != "" {
		t.Errorf("with the token back: %d details, exit code %d, %q owed, want 60, 0 and nothing:\n%s", all, code, owed, said)
	}
}

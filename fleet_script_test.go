package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestFleetScript tries workers as docs/fleet.md says: scripts/fleet starts a server and
// workers, tells where they are, and ends them, and nothing else.
func TestFleetScript(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	script, err := filepath.Abs("scripts/fleet")
	if err != nil {
		t.Fatal(err)
	}
	yard, err := os.MkdirTemp("", "fleet") // not t.TempDir: the server's user must enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(yard) })
	if err := os.Chmod(yard, 0o755); err != nil { // #nosec G302 -- it has no secrets
		t.Fatal(err)
	}
	s := &site{TB: t, binary: filepath.Join(yard, "collect"), dir: t.TempDir(), names: []string{"ants", "bees"}, pages: 5}
	fleet := func(args ...string) (said string, ok bool) {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute) // it builds collect
		defer cancel()
		c := exec.CommandContext(ctx, script, args...)
		c.Dir, c.Env = s.dir, append(os.Environ(), "XDG_CONFIG_HOME="+s.dir, "XDG_STATE_HOME="+s.dir, "FLEET_DIR="+yard)
		c.WaitDelay = 10 * time.Second
		out, err := c.CombinedOutput()
		return string(out), err == nil
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if said, ok := fleet(args...); ok || !strings.Contains(said, want) {
			t.Errorf("scripts/fleet %s: ok is %v, and it says %q; want a refusal with %q", args, ok, said, want)
		}
	}
	refused("usage: ")
	refused("0 is not between 1 and 16", "up", "0")
	refused("not up", "status")

	s.begin()
	said, ok := fleet("up", "2")
	t.Cleanup(func() { fleet("down") })
	if !ok {
		t.Fatalf("scripts/fleet up: %s", said)
	}
	told := regexp.MustCompile(`COLLECT_STATE='([^']+)'`).FindStringSubmatch(said)
	if told == nil {
		t.Fatalf("scripts/fleet up does not say which state to use: %s", said)
	}
	s.address = told[1] + "&search_path=collect" // which is what it is without
	s.connect()
	s.until("workers", `SELECT count(*) FROM fleet_workers`, func(n int64) bool { return n == 2 })
	s.enqueue()
	s.finished(0)
	refused("it is up", "up")

	// A number in the folder that is now another program's is not signalled.
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	t.Cleanup(func() { _ = other.Process.Kill() })
	if err := os.WriteFile(filepath.Join(yard, "worker-9.pid"), []byte(strconv.Itoa(other.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, ok := fleet("down"); !ok {
		t.Errorf("scripts/fleet down: %s", said)
	}
	select {
	case err := <-ended:
		t.Errorf("down ended another program: %v", err)
	default:
	}
	refused("not up", "status")
	if n := s.one(`SELECT 1`); n != -1 {
		t.Error("the server goes on after down")
	}
	if logs, _ := filepath.Glob(filepath.Join(yard, "worker-*.log")); len(logs) != 2 {
		t.Errorf("what the workers said is in %q, want 2 files", logs)
	}
	for _, log := range []string{"worker-1.log", "worker-2.log"} {
		text, _ := os.ReadFile(filepath.Join(yard, log))
		if !strings.Contains(string(text), "worker.ended") {
			t.Errorf("%s does not say that the worker handed over: %s", log, text)
		}
	}
}

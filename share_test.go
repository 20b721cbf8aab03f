package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/internal/provider"
)

// TestRunsShareAPace runs two connectors of one account on two databases. A
// ceiling that each of them has holds for both together, also while the one
// that leads is stopped, and after it is killed; and none of it needs anybody.
func TestRunsShareAPace(t *testing.T) {
	const perSecond = 40
	binary := build(t)
	p := provider.New(provider.Script{Seed: 7, Tickets: 1500})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "shared.yaml")
	text := fmt.Sprintf(`connector: shared
provider: {base_url: %s, ceiling: {per_second: %d}, pace: off}
streams:
  tickets: {get: /cursor/tickets, records: items, key: id, page: {cursor: {from: next_cursor, param: cursor}}}
  details: {each: {id: tickets.id}, get: "/tickets/${id}", key: id, role: detail}
`, url, perSecond)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr [3]bytes.Buffer
	var started []*exec.Cmd
	end := func() {
		for _, c := range started {
			_ = c.Process.Kill() // some are dead already
			_ = c.Wait()
		}
		started = nil
	}
	defer end()
	start := func(i int) *exec.Cmd {
		c := exec.Command(binary, "run", file, "--create", "-q", "--concurrency", "4", "--state", filepath.Join(dir, fmt.Sprintf("state%d.db", i)))
		c.Stderr = &stderr[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		started = append(started, c)
		return c
	}
	served := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); len(p.Log()) < n; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d requests in a minute, want %d: %s%s", len(p.Log()), n, stderr[0].Bytes(), stderr[1].Bytes())
			}
		}
	}
	send := func(c *exec.Cmd, signal syscall.Signal) {
		t.Helper()
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		served(len(p.Log()) + 80)
	}
	first := start(0)
	served(20)
	second := start(1)
	served(100)
	send(first, syscall.SIGKILL)
	start(2)
	served(len(p.Log()) + 40)
	send(second, syscall.SIGSTOP) // it leads now
	send(second, syscall.SIGCONT)
	end()

	// Each of them alone would send as many as the ceiling. Two seconds more
	// are for a busy machine, and for what left when one took over.
	log := p.Log()
	if took := log[len(log)-1].Time.Sub(log[0].Time); float64(len(log)) > perSecond*(took.Seconds()+2) {
		t.Errorf("%d requests in %v, the ceiling is %d a second", len(log), took, perSecond)
	}
	if said := stderr[0].String() + stderr[1].String() + stderr[2].String(); strings.Contains(said, "not shared") {
		t.Errorf("the pace was not shared: %s", said)
	}
}

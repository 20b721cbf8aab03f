//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"collect/internal/provider"
)

// TestStoppedLeadersGoOn stops a process that leads, for longer than the others
// wait for it, and lets it go on: as Ctrl-Z and a closed lid do. Each of those
// that share the account comes to its end, whatever was in flight.
func TestStoppedLeadersGoOn(t *testing.T) {
	binary := build(t)
	const accounts, patience = 4, 60 * time.Second
	var all sync.WaitGroup
	defer all.Wait()
	for n := range accounts {
		all.Go(func() {
			p := provider.New(provider.Script{Seed: 7, Tickets: 60, Modes: []provider.Mode{provider.Latency(100 * time.Millisecond)}})
			url, err := p.Start()
			if err != nil {
				t.Error(err)
				return
			}
			defer p.Close()
			dir := t.TempDir()
			file := filepath.Join(dir, "shared.yaml")
			text := fmt.Sprintf(`connector: shared
provider: {base_url: %s, pace: off, concurrency: {max: 1}}
streams:
  tickets: {get: /cursor/tickets, records: items, key: id, page: {cursor: {from: next_cursor, param: cursor}}}
  details: {each: {id: tickets.id}, get: "/tickets/${id}", key: id, role: detail}
`, url)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Error(err)
				return
			}
			var runs [3]*exec.Cmd
			var said [3]bytes.Buffer
			var ended [3]chan error
			for i := range runs {
				c := exec.Command(binary, "run", file, "--create", "--progress", "plain", "--state", filepath.Join(dir, fmt.Sprintf("state%d.db", i)))
				c.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
				c.Stderr = &said[i]
				if err := c.Start(); err != nil {
					t.Error(err)
					return
				}
				runs[i], ended[i] = c, make(chan error, 1)
				go func() { ended[i] <- c.Wait() }()
				time.Sleep(300 * time.Millisecond) // so that the first one leads
			}
			stop := []int{0}
			if n%2 == 1 {
				stop = []int{0, 1} // a lid stops all, and some wake up first
			}
			for _, i := range stop {
				_ = runs[i].Process.Signal(syscall.SIGSTOP)
			}
			time.Sleep(9*time.Second + time.Duration(n)*200*time.Millisecond)
			for _, i := range stop {
				_ = runs[i].Process.Signal(syscall.SIGCONT)
			}
			for i, c := range runs {
				select {
				case err := <-ended[i]:
					if err != nil {
						t.Errorf("account %d, run %d: %v\n%s", n, i, err, said[i].Bytes())
					}
				case <-time.After(patience):
					_ = c.Process.Signal(syscall.SIGQUIT) // which says where it stands
					<-ended[i]
					t.Errorf("account %d, run %d does not end\n%s", n, i, said[i].Bytes())
				}
			}
		})
	}
}

//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"collect/internal/provider"
)

// soon bounds what must happen at once, on a machine that is busy.
const soon = 20 * time.Second

// TestSignalBeforeTheLease: a run that waits for its files has nothing to save,
// and a signal ends it at once, with every process that it started.
func TestSignalBeforeTheLease(t *testing.T) {
	binary := build(t)
	for _, tc := range []struct {
		name, secret string
		pipe         string // the file that nobody writes to
	}{
		{"a secret in a pipe", "file: token", "token"},
		{"a connector in a pipe", "env: TOKEN", "acme.yaml"},
		{"a command that takes long", `command: "echo $$ > pid; sleep 75 | cat"`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			text := fmt.Sprintf(`connector: acme
secrets: {token: {%s}}
provider: {base_url: "http://127.0.0.1:1", auth: {bearer: "${secrets.token}"}}
streams: {tickets: {get: /tickets, key: id, page: {none: true}}}
`, tc.secret)
			if err := os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			pipe := filepath.Join(dir, tc.pipe)
			if tc.pipe != "" {
				_ = os.Remove(pipe)
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := exec.Command(binary, "run", "./acme.yaml", "--create", "--state", "state.db")
			run.Dir, run.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TOKEN=x"}
			run.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as cron does: there is no terminal
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			defer run.Process.Kill()
			group := 0
			within(t, "it waits", func() bool {
				if tc.pipe != "" {
					w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0) // there is a reader
					if err == nil {
						t.Cleanup(func() { w.Close() }) // before that, it would read the end
					}
					return err == nil
				}
				pid, _ := os.ReadFile(filepath.Join(dir, "pid"))
				group, _ = strconv.Atoi(strings.TrimSpace(string(pid)))
				return group != 0
			})
			if code := ends(t, run, syscall.SIGTERM); code != 143 {
				t.Errorf("exit code %d, want 143", code)
			}
			if group != 0 {
				within(t, "its processes are gone", func() bool {
					return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH)
				})
			}
		})
	}
}

// TestSecondSignal: a run that cannot end gently, since nobody reads what it
// says, ends at the second signal. The next one goes on.
func TestSecondSignal(t *testing.T) {
	binary := build(t)
	p := provider.New(provider.Script{Seed: 3, Tickets: 400})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	file := connectorFile(t, dir, url)
	args := []string{"run", file, "--create", "--state", filepath.Join(dir, "state.db"), "--json", "--trace"}
	run := exec.Command(binary, args...)
	if _, err := run.StdoutPipe(); err != nil { // of which nothing is read
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer run.Process.Kill()
	before := -1
	within(t, "it stands still", func() bool {
		time.Sleep(500 * time.Millisecond)
		now := len(p.Log())
		stands := now == before && now > 0
		before = now
		return stands
	})
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if code := ends(t, run, os.Interrupt); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if out, err := exec.Command(binary, args[:5]...).CombinedOutput(); err != nil || len(p.Log()) == before {
		t.Errorf("the next run: %v, %d requests more\n%s", err, len(p.Log())-before, out)
	}
}

// within waits until what is so, for a while.
func within(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is not so that %s", soon, what)
		}
	}
}

// ends sends a signal to a process, and returns the exit code with which it
// soon ends.
func ends(t *testing.T, c *exec.Cmd, sig os.Signal) int {
	t.Helper()
	if err := c.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // its code is what counts
	}()
	select {
	case <-ended:
	case <-time.After(soon):
		t.Fatalf("it does not end within %v of %v", soon, sig)
	}
	return c.ProcessState.ExitCode()
}

// TestHowItStands: SIGUSR1 has a run say how it stands, one line for each connector,
// however quiet it is else, and does not end it. A command that is no run goes on, too.
func TestHowItStands(t *testing.T) {
	binary := build(t)
	p := provider.New(provider.Script{Seed: 3, Tickets: 4000, Modes: []provider.Mode{provider.Latency(20 * time.Millisecond)}})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"one", "two"} {
		text := fmt.Sprintf("connector: %s\nprovider: {base_url: %q}\nstreams: {tickets: {get: /cursor/tickets, records: items, key: id, page: {cursor: {from: next_cursor, param: cursor}}}}\n", name, url)
		files = append(files, filepath.Join(dir, name+".yaml"))
		if err := os.WriteFile(files[len(files)-1], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range [][]string{files[:1], files} {
		said := filepath.Join(dir, fmt.Sprintf("said%d", len(of)))
		stderr, err := os.Create(said)
		if err != nil {
			t.Fatal(err)
		}
		run := exec.Command(binary, append([]string{"run", "-qq", "--create", "--state", filepath.Join(dir, fmt.Sprintf("state%d.db", len(of)))}, of...)...)
		before := len(p.Log())
		run.Env, run.Stderr = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, stderr
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		defer run.Process.Kill()
		lines := func() string {
			text, _ := os.ReadFile(said)
			return string(text)
		}
		within(t, "each says how it stands", func() bool {
			if len(p.Log()) > before { // before it has begun, it says nothing, and does not end
				_ = run.Process.Signal(syscall.SIGUSR1)
			}
			time.Sleep(100 * time.Millisecond)
			for _, name := range []string{"one", "two"}[:len(of)] {
				if !strings.Contains(lines(), " "+name+" progress ") {
					return false
				}
			}
			return true
		})
		if code := ends(t, run, syscall.SIGINT); code != 130 {
			t.Errorf("exit code %d, want 130: %s", code, lines())
		}
		stderr.Close()
	}
}

//go:build linux

package chaos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClockSteps: the clock of a worker is set by ten minutes. It hands over and ends with 78, and
// the others go on; it is started again once its clock is right.
func TestClockSteps(t *testing.T) {
	if *times == 0 {
		t.Skip("it builds the standard library anew; see scripts/crash --fleet")
	}
	dir := t.TempDir()
	overlay, err := clockOverlay(dir)
	if err != nil {
		t.Fatal(err)
	}
	stepped := filepath.Join(dir, "collect")
	if err := build(stepped, "-overlay", overlay); err != nil {
		t.Fatal(err)
	}
	step := func(by int) fault {
		return func(f *fleet) string {
			w, of := f.busy()
			at := time.Now()
			clock := filepath.Join(f.dir, fmt.Sprint("clock-", w.n))
			if w.command != stepped {
				w.kill()
				w.command, w.env = stepped, []string{"COLLECT_CLOCK=" + clock}
				f.start(w)
				f.whole()
			}
			f.set(clock, by)
			err := w.process.Wait()
			if code := w.process.ProcessState.ExitCode(); code != 78 || !strings.Contains(w.said.String(), "E0723") {
				f.Errorf("a clock that is off by %d s: %v\n%s", by, err, w.said.Bytes())
			}
			f.takenOver(w, of, at)
			f.set(clock, 0)
			f.start(w)
			return fmt.Sprint("worker ", w.n)
		}
	}
	disturb(t, 2, false, map[string]fault{"ahead": step(600), "back": step(-600)})
}

// set sets a clock.
func (f *fleet) set(clock string, by int) {
	f.Helper()
	text := filepath.Join(f.dir, "next")
	if err := os.WriteFile(text, fmt.Append(nil, by), 0o600); err != nil {
		f.Fatal(err)
	}
	if err := os.Rename(text, clock); err != nil {
		f.Fatal(err)
	}
}

// clockOverlay writes what "go build -overlay" takes to build the command with a clock that
// can be set: package time adds what is in a file, which COLLECT_CLOCK names, to the time of
// day. The monotonic clock goes on, as when somebody sets the clock of a machine.
// (libfaketime has no hold on a program in Go, which asks the kernel and not the C library.)
func clockOverlay(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	of := filepath.Join(strings.TrimSpace(string(root)), "src/time/time.go")
	source, err := os.ReadFile(of)
	if err != nil {
		return "", err
	}
	const call = "sec, nsec, mono := runtimeNow()"
	text := strings.ReplaceAll(string(source), call, call+"\n\tsec += Stepped")
	if strings.Count(text, call) == 0 {
		return "", fmt.Errorf("%s: no line reads %q", of, call)
	}
	text += "\n// Stepped is added to the time of day, in seconds.\nvar Stepped int64\n"
	main, err := filepath.Abs("../../clock_stepped.go")
	if err != nil {
		return "", err
	}
	replaced := map[string]string{of: filepath.Join(dir, "time.go"), main: filepath.Join(dir, "clock.go")}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	for name, text := range map[string]string{replaced[of]: text, replaced[main]: reader, overlay: string(list)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return overlay, nil
}

// reader reads the file ten times a second.
const reader = `package main

import (
	"os"
	"strconv"
	"strings"
	"time"
)

func init() {
	go func() {
		for {
			text, err := os.ReadFile(os.Getenv("COLLECT_CLOCK"))
			if n, wrong := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && wrong == nil {
				time.Stepped = n
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
}
`

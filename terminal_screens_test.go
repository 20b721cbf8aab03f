package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collect/internal/provider"
)

// screens are what is printed once. None of their lines is cut by the edge of the terminal.
var screens = []string{
	"status", "status --wide", "status shop", "gaps", "gaps shop --calendar", "plan shop.yaml", "runs", "run-view shop",
	"explain shop", "explain g_1", "budget show shop", "config show --origin", "doctor",
}

// wideScreens are those that have lines of their own, of up to 80 columns.
var wideScreens = []string{"help run", "help prune", "help"}

// TestScreens looks at what is printed once in terminals of several sizes: lines end
// between words, and not where the terminal does. A question is left by Ctrl-C, and
// changes nothing. In a pipe there are no control sequences.
func TestScreens(t *testing.T) {
	dir := stage(t)
	for _, size := range [][2]int{{80, 24}, {100, 30}, {50, 24}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			var script strings.Builder
			screens := screens
			if size[0] >= 80 {
				screens = append(slices.Clone(screens), wideScreens...)
			}
			for _, screen := range screens {
				fmt.Fprintf(&script, "clear; collect %s; echo; echo 'end of %s.'; read line\n", screen, screen)
			}
			term := openTerminal(t, size[0], 200, environment(dir)+" sh -c \""+strings.ReplaceAll(script.String(), `"`, `\"`)+"\"")
			for _, screen := range screens {
				term.await("end of " + screen + ".")
				cut(t, term, screen)
				term.tmux("send-keys", "Enter")
			}
			term = openTerminal(t, size[0], 200, environment(dir)+" collect breaker open shop --for 2h --reason x; echo exit=$?; sleep 60")
			term.await("Go on? [y/N]")
			cut(t, term, "breaker open")
			term.tmux("send-keys", "C-c")
			if screen := term.await("exit=130"); !strings.Contains(screen, "was interrupted") || strings.Contains(screen, "resume") {
				t.Errorf("an order that was left says:\n%s", screen)
			}
		})
	}
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		for _, screen := range screens {
			out, _ := exec.Command("sh", "-c", "env -u CI "+environment(dir)+" sh -c 'collect "+screen+" 2>&1 | cat'").CombinedOutput()
			if strings.Contains(string(out), "\x1b") {
				t.Errorf("collect %s in a pipe has control sequences: %q", screen, out)
			}
		}
	})
}

// cut reports the lines that the terminal cut in two.
func cut(t *testing.T, term *terminal, screen string) {
	t.Helper()
	shown := map[string]bool{}
	for line := range strings.Lines(term.screen()) {
		shown[strings.TrimRight(line, " \n")] = true
	}
	for line := range strings.Lines(term.tmux("capture-pane", "-p", "-J")) {
		// A word that is longer than a column, as the version of a build, has no other place to be cut.
		tooLong := slices.ContainsFunc(strings.Fields(line), func(word string) bool { return len(word) > 30 })
		if line = strings.TrimRight(line, " \n"); !shown[line] && !tooLong {
			t.Errorf("collect %s: the terminal cuts a line: %q", screen, line)
		}
	}
}

// environment begins a shell command that has its files in dir, and a terminal of a person.
func environment(dir string) string {
	return fmt.Sprintf("cd %[1]s && env -u CI -u GITHUB_ACTIONS HOME=%[1]s XDG_STATE_HOME=%[1]s PATH=%[1]s/bin:$PATH LANG=C.UTF-8", dir)
}

// stage makes a folder with a past: a connector that stopped at its cap of requests, with
// days that are complete, owed and not reached.
func stage(t *testing.T) (dir string) {
	t.Helper()
	p := provider.New(provider.Script{Seed: 1, Tickets: 60})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	dir = t.TempDir()
	text := fmt.Sprintf(`connector: shop
provider: {name: a_shop_with_a_long_name, base_url: %s, pace: off, ceiling: {per_day: 2000, per_second: 50}}
streams:
  orders:
    get: "/cursor/tickets?from=${window.from}&to=${window.to}"
    records: items
    key: id
    windows: {from: 2026-01-01, until: 2026-03-11, step: 1d, lookback: 1d, format: date, least: 1d}
    page: {cursor: {from: next_cursor, param: cursor}}
  all_of_the_other_orders: {get: /cursor/tickets, records: items, key: id, page: {cursor: {from: next_cursor, param: cursor}}}
`, url)
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o700), os.Symlink(build(t), filepath.Join(dir, "bin", "collect"))); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", environment(dir)+" collect run shop.yaml --max-requests 20 -q").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"collect/internal/pgtest"
	"collect/internal/provider"
)

// A terminal is a real one: tmux draws it, and tells what is on it.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal runs a shell command in a terminal of a size.
func openTerminal(t *testing.T, columns, rows int, command string) *terminal {
	t.Helper()
	term := &terminal{t, filepath.Join(t.TempDir(), "tmux")}
	t.Cleanup(func() { _ = term.command("kill-server").Run() })
	term.tmux("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), command)
	return term
}

func (term *terminal) command(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", term.socket}, args...)...)
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := term.command(args...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// screen returns what is on the screen.
func (term *terminal) screen() string { return term.tmux("capture-pane", "-p") }

// await waits until text is on the screen, and returns the screen.
func (term *terminal) await(text string) string {
	term.t.Helper()
	for range 300 {
		if screen := term.screen(); strings.Contains(screen, text) {
			return screen
		}
		time.Sleep(100 * time.Millisecond)
	}
	term.t.Fatalf("%q did not appear:\n%s", text, term.screen())
	return ""
}

// awaitGone waits until text is not on the screen.
func (term *terminal) awaitGone(text string) {
	term.t.Helper()
	for range 300 {
		if !strings.Contains(term.screen(), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	term.t.Fatalf("%q did not go:\n%s", text, term.screen())
}

// TestLiveBlock watches a run in terminals of several sizes, resizes one, and
// ends it with Ctrl-C: the block fits, the cursor comes back, and the last
// words say what is safe and how to go on.
func TestLiveBlock(t *testing.T) {
	binary := build(t)
	for _, size := range [][2]int{{80, 24}, {100, 30}, {50, 24}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			p := provider.New(provider.Script{Seed: 1, Modes: []provider.Mode{provider.Latency(10 * time.Millisecond)}})
			url, err := p.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			dir := t.TempDir()
			file := connectorFile(t, dir, url)
			run := fmt.Sprintf("env -u CI LANG=C.UTF-8 %s run %s --create --state %s; echo exit=$?; sleep 60", binary, file, filepath.Join(dir, "state.db"))
			term := openTerminal(t, size[0], size[1], run)

			screen := term.await("tickets · collecting")
			for line := range strings.Lines(screen) {
				if got := uniseg.StringWidth(strings.TrimRight(line, " \n")); got > size[0] {
					t.Errorf("a line of %d columns: %q", got, line)
				}
			}
			term.await("details") // the block moves on with the run
			if got := strings.TrimSpace(term.tmux("display-message", "-p", "#{cursor_flag}")); got != "0" {
				t.Errorf("cursor flag %s while the block is drawn, want it hidden", got)
			}
			// Narrower, it draws on at its place: what wrapped out of reach may stay
			// in the history, and no frame after that.
			term.tmux("resize-window", "-x", "48", "-y", "24")
			time.Sleep(3 * time.Second)
			if history := term.tmux("capture-pane", "-p", "-S", "-500"); strings.Count(history, "tickets · collecting") > 2 {
				t.Errorf("made narrower, the terminal has old frames:\n%s", history)
			}
			term.tmux("resize-window", "-x", "72", "-y", "20")
			term.tmux("send-keys", "C-c")
			screen = term.await("exit=")
			for _, want := range []string{"What was saved is safe", "collect resume tickets", "exit=130"} {
				if !strings.Contains(screen, want) {
					t.Errorf("no %q at the end:\n%s", want, screen)
				}
			}
			if got := strings.TrimSpace(term.tmux("display-message", "-p", "#{cursor_flag}")); got != "1" {
				t.Errorf("cursor flag %s at the end, want it shown", got)
			}
		})
	}
}

// TestLiveBlockOfSeveral watches more connectors than fit, in a terminal that is
// made lower, and ends them with Ctrl-C: those that wait are shown, the block keeps
// to its place, and each is saved.
func TestLiveBlockOfSeveral(t *testing.T) {
	p := provider.New(provider.Script{Seed: 1, Tickets: 2000, Parents: 2000, Modes: []provider.Mode{provider.Latency(10 * time.Millisecond)}})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	text, err := os.ReadFile(connectorFile(t, dir, url))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for i := range 10 {
		name := fmt.Sprintf("tickets%d", i)
		files = append(files, filepath.Join(dir, name+".yaml"))
		named := strings.Replace(string(text), "connector: tickets", "connector: "+name, 1)
		if err := os.WriteFile(files[i], []byte(named), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := fmt.Sprintf("env -u CI XDG_STATE_HOME=%s LANG=C.UTF-8 %s run %s nowhere --create --state %s; echo exit=$?; sleep 60",
		dir, build(t), strings.Join(files, " "), filepath.Join(dir, "state.db"))
	term := openTerminal(t, 80, 24, run)
	for _, want := range []string{"CONNECTOR", "collecting", "waits for its turn", "1 needs you"} {
		term.await(want)
	}
	for line := range strings.Lines(term.screen()) {
		if got := uniseg.StringWidth(strings.TrimRight(line, " \n")); got > 80 {
			t.Errorf("a line of %d columns: %q", got, line)
		}
	}
	term.tmux("resize-window", "-x", "70", "-y", "14")
	screen := term.await("and ")
	if !strings.Contains(screen, "nowhere") {
		t.Errorf("the one that needs a person is not shown:\n%s", screen)
	}
	time.Sleep(3 * time.Second)
	if history := term.tmux("capture-pane", "-p", "-S", "-500"); strings.Count(history, "CONNECTOR") > 2 {
		t.Errorf("made lower, the terminal has old frames:\n%s", history)
	}
	term.tmux("resize-window", "-x", "80", "-y", "40")
	term.tmux("send-keys", "C-c")
	screen = term.await("exit=")
	for _, want := range []string{"1 of 11 connectors needs you", "tickets0   interrupted", "tickets9", "not begun", "E0201", "exit=78"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q at the end:\n%s", want, screen)
		}
	}
	if got := strings.TrimSpace(term.tmux("display-message", "-p", "#{cursor_flag}")); got != "1" {
		t.Errorf("cursor flag %s at the end, want it shown", got)
	}
}

// TestWatchStatus watches the status, sees a connector appear, and quits: the terminal
// is as it was, with the last status on it.
func TestWatchStatus(t *testing.T) {
	p := provider.New(provider.Script{Seed: 1, Tickets: 20})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	binary, file := build(t), connectorFile(t, dir, url)
	environment := "env -u CI XDG_STATE_HOME=" + dir + " LANG=C.UTF-8 "
	term := openTerminal(t, 80, 10, environment+binary+" status --watch --wide; echo exit=$?; read line; echo read=$line; sleep 60")
	screen := term.await("q quits")
	if !strings.Contains(screen, "nothing was collected yet") {
		t.Errorf("before the first run:\n%s", screen)
	}
	run := exec.Command(binary, "run", file, "-q")
	run.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	term.await("tickets")
	term.tmux("resize-window", "-x", "60", "-y", "4")
	time.Sleep(4 * time.Second) // the first frame after it may still be of the old size
	screen = term.screen()
	if lines := strings.Split(strings.TrimRight(screen, "\n"), "\n"); len(lines) != 4 || !strings.HasSuffix(lines[3], "q quits") {
		t.Errorf("after a resize, the last line says not how to quit:\n%s", screen)
	}
	term.tmux("resize-window", "-x", "80", "-y", "10")
	term.tmux("send-keys", "q")
	screen = term.await("exit=0")
	if !strings.Contains(screen, "tickets") || strings.Contains(screen, "q quits") {
		t.Errorf("after q:\n%s", screen)
	}
	term.tmux("send-keys", "echoed", "Enter")
	term.await("read=echoed")
	if got := strings.TrimSpace(term.tmux("display-message", "-p", "#{cursor_flag}#{alternate_on}")); got != "10" {
		t.Errorf("cursor and other screen are %s at the end, want 10", got)
	}
}

// TestWatchOutlivesAnOutage watches the status of a store on a server that goes away, and comes back.
// A server that is away from the start is told once.
func TestWatchOutlivesAnOutage(t *testing.T) {
	p := provider.New(provider.Script{Seed: 1, Tickets: 20})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	server, err := pgtest.Start("fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Remove()
	dir := t.TempDir()
	binary, file, state := build(t), connectorFile(t, dir, url), server.Address("watched")
	if out, err := exec.Command(binary, "run", file, "-q", "--create", "--state", state).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	watch := func() *terminal {
		return openTerminal(t, 80, 20, "env -u CI LANG=C.UTF-8 "+binary+" status --watch --state '"+state+"'; echo exit=$?; sleep 60")
	}
	term := watch()
	term.await("q quits")
	server.End(syscall.SIGINT)
	if screen := term.await("the server has not answered since"); !strings.Contains(screen, "tickets") || strings.Contains(screen, "error") {
		t.Errorf("while the server is away:\n%s", screen)
	}
	if err := server.Begin("fsync=off"); err != nil {
		t.Fatal(err)
	}
	term.awaitGone("has not answered")
	server.End(syscall.SIGINT)
	term.await("the server has not answered since")
	term.tmux("send-keys", "q")
	if screen := term.await("exit=0"); !strings.Contains(screen, "tickets") || !strings.Contains(screen, "the server has not answered since") {
		t.Errorf("after q:\n%s", screen)
	}
	term = watch()
	if screen := term.await("exit=74"); strings.Count(screen, "E0719") != 1 {
		t.Errorf("of a server that was never there, the error is not told once:\n%s", screen)
	}
}

// TestInitAsks answers as a tired person does: a name that is none, a token that is
// rejected, an amount that is a word. What is typed as a token is never shown, Ctrl-C in
// the middle leaves nothing behind and a terminal that shows what is typed, and in the end a run has
// worked.
func TestInitAsks(t *testing.T) {
	p := provider.New(provider.Script{Seed: 1, Tickets: 20, Token: "t0ken-c4nary"})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir, binary := t.TempDir(), build(t)
	connector := fmt.Sprintf(`connector: acme
params: {org: {required: true, about: the organization}, start: {type: date, default: 2024-01-01}}
secrets: {token: {env: ACME_TOKEN}}
provider: {base_url: %s, auth: {bearer: "${secrets.token}"}}
streams:
  tickets: {get: "/cursor/tickets?org=${params.org}", records: items, key: id, page: {cursor: {from: next_cursor, param: cursor}}}
`, url)
	if err := os.WriteFile(filepath.Join(dir, "acme.yaml"), []byte(connector), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(columns int) *terminal {
		return openTerminal(t, columns, 40, fmt.Sprintf("cd %s && env -i PATH=$PATH HOME=%s TERM=$TERM LANG=C.UTF-8 %s init; echo exit=$?; cat", dir, dir, binary))
	}
	term := open(50)
	answer := func(question, text string) {
		term.await(question)
		term.tmux("send-keys", text, "Enter")
	}
	answer("Connector:", "./acne.yaml")
	term.await("acme.yaml") // that was probably meant
	answer("Connector:", "./acme.yaml")
	answer("the organization", "")
	term.await("it is needed")
	answer("organization):", "acme")
	answer("First day to collect [2024-01-01]:", "soon")
	term.await("a day such as")
	cut(t, term, "init")
	term.tmux("send-keys", "C-c")
	term.await("exit=130")
	term.tmux("send-keys", "seen", "Enter")
	term.await("seen")
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("Ctrl-C left %q", left)
	}

	term = open(80)
	answer("Connector:", "acme.yaml")
	answer("organization):", "acme")
	answer("First day", "")
	answer("Token:", "wr0ng-c4nary")
	answer("Ask acme once whether it accepts this? [Y/n]:", "")
	answer("Another token? [Y/n]:", "y")
	term.await("acme rejected the credential (401)")
	time.Sleep(time.Second) // the token is asked for once more
	term.tmux("send-keys", "t0ken-c4nary", "Enter")
	time.Sleep(time.Second)
	term.tmux("send-keys", "", "Enter")
	term.await("ok: acme answered for tickets (1 request sent)")
	answer("or none [none]:", "fast")
	term.await("a number above 0")
	answer("or none [none]:", "20")
	term.await("Write collect.yaml? [Y/n]:")
	cut(t, term, "init")
	answer("Write collect.yaml? [Y/n]:", "")
	answer("Make a first run now", "")
	screen := term.await("exit=0")
	for _, want := range []string{"complete: acme is up to date", "next:  collect run acme ", "collect init --cron"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q at the end:\n%s", want, screen)
		}
	}
	if history := term.tmux("capture-pane", "-p", "-S", "-500"); strings.Contains(history, "c4nary") {
		t.Errorf("a token is on the screen:\n%s", history)
	}
	written, err := os.ReadFile(filepath.Join(dir, "collect.yaml"))
	if err != nil || !strings.Contains(string(written), "ceiling_per_second: 20") || strings.Contains(string(written), "c4nary") {
		t.Errorf("%v: collect.yaml:\n%s", err, written)
	}
}

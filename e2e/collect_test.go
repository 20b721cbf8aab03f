// Package e2e_test runs the real collect, built from the folder above, against
// servers that nobody of this project wrote.
package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// binary is the collect under test.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "collect-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "collect")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building collect:", err)
		return 1
	}
	return m.Run()
}

// A user runs collect with one connector and one database.
type user struct {
	file   string // of the connector, or the name of one of the catalogue
	state  string
	config []string // the flags that name a configuration
	env    []string
}

// newUser returns a user of testdata/NAME.yaml with an empty home.
func newUser(t *testing.T, name string, env ...string) user {
	t.Helper()
	home := t.TempDir()
	file, err := filepath.Abs(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return user{
		file:  file,
		state: filepath.Join(home, "state.db"),
		env:   append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...),
	}
}

// fast lets a run of the catalogue begin at a pace that a server of our own bears.
const fast = "version: 1\nproviders: {%s: {start_per_second: 50, ceiling_per_second: 200}}\n"

// catalogUser returns a user of a connector of the catalogue with an empty home.
func catalogUser(t *testing.T, name string, env ...string) user {
	t.Helper()
	home := t.TempDir()
	config := filepath.Join(home, "collect.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, fast, name), 0o600))
	return user{
		file:   name,
		state:  filepath.Join(home, "state.db"),
		config: []string{"--config", config},
		env:    append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...),
	}
}

// command prepares collect VERB FILE ARGS….
func (u user) command(verb string, args ...string) *exec.Cmd {
	return u.bare(slices.Concat([]string{verb, u.file, "--state", u.state}, u.config, args)...)
}

// bare prepares collect ARGS….
func (u user) bare(args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Env = u.env
	return c
}

// A result is how a run of collect ended.
type result struct {
	code   int
	took   time.Duration
	stdout []byte
	stderr []byte
}

// collect runs run or resume, with the database made if there is none.
func (u user) collect(t *testing.T, verb string, args ...string) result {
	t.Helper()
	return finish(t, u.command(verb, append(args, "--create", "--json")...))
}

func finish(t *testing.T, c *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	began := time.Now()
	err := c.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), time.Since(began), stdout.Bytes(), stderr.Bytes()}
}

// wantCode fails the test unless the run ended with code.
func (r result) wantCode(t *testing.T, code int) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d, after %v; stderr:\n%s\nlast event: %s",
			r.code, code, r.took, r.stderr, lastLine(r.stdout))
	}
}

func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}

// wantRecords fails the test unless the export of a stream holds exactly the
// records in want, byte for byte, each once, in whatever order.
func (u user) wantRecords(t *testing.T, stream string, want []json.RawMessage) {
	t.Helper()
	r := finish(t, u.command("export", stream))
	r.wantCode(t, 0)
	got := bytes.Split(bytes.TrimSpace(r.stdout), []byte("\n"))
	if len(want) == 0 {
		t.Fatal("nothing to compare with")
	}
	slices.SortFunc(got, bytes.Compare)
	want = slices.Clone(want)
	slices.SortFunc(want, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	if len(got) != len(want) {
		t.Errorf("%s: %d records, want %d", stream, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%s: record %d of %d = %s\nwant %s", stream, i, len(got), got[i], want[i])
		}
	}
}

// events counts the events of a run by kind.
func (r result) events(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range bytes.Lines(r.stdout) {
		var e struct {
			Event string
			Seq   int
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("event %s: %v", line, err)
		}
		counts[cmp.Or(e.Event, "none")]++
	}
	return counts
}

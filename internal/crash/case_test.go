package crash_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds every process. SQLite waits 30 seconds for a lock.
const patience = 90 * time.Second

// A trial is one scenario with one database, from before the command to after
// the last look.
type trial struct {
	*bench
	scenario
	what     string // the disturbance, for messages
	dir      string // of the database
	acked    []int64
	dark     bool // the power was cut: what reads may ask for a run before it believes the log
	signedIn int  // times that somebody had to sign in
	anew     int  // processes that began when there was nothing more to ask for
}

// An ending is how a process ended.
type ending struct {
	code   int // -1 if a signal ended it
	signal syscall.Signal
	stderr string
	acked  []int64 // commits that it reported
	took   time.Duration
}

func (e ending) String() string {
	if e.signal != 0 {
		return fmt.Sprintf("%v after %v", e.signal, e.took.Round(time.Millisecond))
	}
	return fmt.Sprintf("exit code %d: %s", e.code, e.stderr)
}

// try prepares a trial of sc in a new directory below in; "": of the bench.
func (b *bench) try(sc scenario, in, what string, args ...any) *trial {
	u := b.undisturbed(sc)
	b.cases++
	if in == "" {
		in = b.dir
	}
	c := &trial{bench: b, scenario: sc, what: fmt.Sprintf(what, args...), dir: filepath.Join(in, fmt.Sprint("case-", b.cases))}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		c.fail("%v", err)
		return c
	}
	c.settle()
	if u.before != nil {
		if err := os.WriteFile(c.state(), u.before, 0o600); err != nil {
			c.fail("%v", err)
		}
	}
	b.provider.Forget()
	return c
}

// settle gives the provider the credential that the scenario finds.
func (c *trial) settle() {
	switch {
	case c.tokens:
		if err := c.grant(c.dir, c.strict); err != nil {
			c.fail("%v", err)
		}
	case c.renewed:
		c.renew("new")
	default:
		c.renew("old")
	}
}

func (c *trial) state() string {
	if c.dirs {
		return filepath.Join(c.dir, "made", "by", "it", usual)
	}
	return filepath.Join(c.dir, "state.db")
}

func (c *trial) fail(format string, args ...any) {
	c.t.Errorf("%s, %s: %s", c.name, c.what, fmt.Sprintf(format, args...))
}

// clean removes what a trial made.
func (c *trial) clean() {
	if err := os.RemoveAll(c.dir); err != nil {
		c.fail("%v", err)
	}
}

// usual is where the database is that nobody named, in the folder for the
// state of programs. There, and only there, the folders are made, too.
const usual = "/collect/state.db"

// prepare returns the process of a command line on the trial's database, which
// runs under the program in front, if there is one.
func (b *bench) prepare(state string, command []string, front ...string) *process {
	line := append(append(front, b.binary), command...)
	env := []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"), "NO_PROXY=127.0.0.1"}
	if home, ok := strings.CutSuffix(state, usual); ok {
		env = append(env, "XDG_STATE_HOME="+home)
	} else {
		line = append(line, "--state", state)
	}
	p := &process{Cmd: exec.Command(line[0], line[1:]...), patience: patience}
	p.Dir, p.Env = b.dir, env
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.Stdout, p.Stderr = &p.out, &p.err
	p.WaitDelay = patience // children of a killed process may have its output, and what it wrote may not be read yet
	return p
}

// collecting returns the process of the scenario's command.
func (c *trial) collecting(front ...string) *process {
	if c.served() {
		c.anew++
	}
	p := c.prepare(c.state(), append(c.command[:len(c.command):len(c.command)], "--create", "--json"), front...)
	p.events = true
	return p
}

// served reports whether the provider has served all that the command takes,
// but for what each worker may have been interrupted at: that is a gap, which
// is filled before the pass that follows.
func (c *trial) served() bool {
	u := c.known[c.name]
	if u == nil || len(u.asked) == 0 {
		return false
	}
	asked, missing := c.asked(), 0
	for url := range u.asked {
		if asked[url] == 0 {
			missing++
		}
	}
	return missing <= c.workers
}

// A process is a collect at work.
type process struct {
	*exec.Cmd
	out, err bytes.Buffer
	events   bool // the output is an event stream
	began    time.Time
	timer    *time.Timer
	patience time.Duration // how long it may take
}

func (p *process) start() error {
	p.began = time.Now()
	if err := p.Start(); err != nil {
		return err
	}
	// The whole group: strace stands in front of what is to say where it hangs.
	p.timer = time.AfterFunc(p.patience, func() { _ = syscall.Kill(-p.Process.Pid, syscall.SIGQUIT) })
	return nil
}

// end waits for the end of the process.
func (p *process) end() (ending, error) {
	err := p.Wait()
	took := time.Since(p.began)
	if !p.timer.Stop() {
		return ending{}, fmt.Errorf("it did not end within %v: %s", p.patience, p.err.String())
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return ending{}, err
	}
	e := ending{code: p.ProcessState.ExitCode(), stderr: strings.TrimSpace(p.err.String()), took: took}
	if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.signal = status.Signal()
	}
	if !p.events {
		return e, nil
	}
	e.acked, err = acknowledged(p.out.Bytes())
	return e, err
}

// run runs a process to its end, and notes what it acknowledged.
func (c *trial) run(p *process) (ending, bool) {
	if err := p.start(); err != nil {
		c.fail("%v", err)
		return ending{}, false
	}
	return c.ended(p)
}

func (c *trial) ended(p *process) (ending, bool) {
	e, err := p.end()
	if err != nil {
		c.fail("%v", err)
		return ending{}, false
	}
	c.acked = append(c.acked, e.acked...)
	return e, true
}

// acknowledged returns the commits that an event stream reports, whose last
// line may be broken off.
func acknowledged(events []byte) (commits []int64, err error) {
	for line := range bytes.Lines(events) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e struct {
			Event string
			Slice struct{ Commit int64 }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("event %s: %w", line, err)
		}
		if e.Event == "slice.committed" {
			commits = append(commits, e.Slice.Commit)
		}
	}
	return commits, nil
}

// A tally counts what a test reached.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: map[string]int{}} }

func (n *tally) add(what string, by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n[what] += by
}

func (n *tally) count(what string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.n[what]
}

// copyFile copies a file; none is none.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

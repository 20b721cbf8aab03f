package crash_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// calls are the system calls by which a run changes anything, or takes a lock,
// and what can be wrong with each instead of its result.
var calls = []struct {
	name   string
	errors []string
}{
	{"pwrite64", []string{"EIO", "ENOSPC"}},
	{"write", nil}, // to sockets and pipes
	{"fsync", []string{"EIO", "ENOSPC"}},
	{"fdatasync", []string{"EIO", "ENOSPC"}},
	{"ftruncate", []string{"EIO", "ENOSPC"}},
	{"unlink", []string{"EIO"}},
	{"unlinkat", []string{"EIO"}},
	{"rename", []string{"EIO"}},
	{"renameat", []string{"EIO", "ENOSPC"}},
	{"openat", []string{"EIO", "ENOSPC"}},
	{"open", []string{"EIO", "ENOSPC"}},
	{"fchmod", nil},
	{"fchmodat", nil},
	{"mmap", nil},
	{"flock", []string{"EIO", "ENOLCK"}},
	{"fcntl", []string{"EIO", "ENOLCK"}}, // the locks of SQLite
}

// traced returns the names of all calls, for strace.
func traced() string {
	var names []string
	for _, call := range calls {
		names = append(names, call.name)
	}
	return strings.Join(names, ",")
}

// strace returns the program in front of a process whose calls it writes to a
// file, and with which it interferes.
func strace(log string, inject ...string) []string {
	front := []string{"strace", "-f", "-qqq", "-o", log, "-e", "trace=" + traced()}
	for _, what := range inject {
		front = append(front, "-e", "inject="+what)
	}
	return append(front, "--")
}

// A record is what strace wrote of a process.
type record struct {
	calls    map[string]int // by name
	longest  map[string]int // by name, of the thread with the most
	injected int
}

// A line of strace is "PID name(arguments) = result", or has the two halves of
// a call apart, with "resumed" in the second.
var callLine = regexp.MustCompile(`^(\d+) +(\w+)\(`)

func readRecord(log string) (record, error) {
	r := record{calls: map[string]int{}, longest: map[string]int{}}
	f, err := os.Open(log)
	if err != nil {
		return r, err
	}
	defer f.Close()
	threads := map[string]int{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "(INJECTED)") {
			r.injected++
		}
		m := callLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		name := m[2]
		r.calls[name]++
		threads[m[1]+name]++
		r.longest[name] = max(r.longest[name], threads[m[1]+name])
	}
	return r, lines.Err()
}

// recorded runs the scenario under strace without interfering.
func (b *bench) recorded(sc scenario) (record, error) {
	c := b.try(sc, "", "traced")
	defer c.clean()
	log := c.dir + ".strace"
	defer os.Remove(log)
	if e, ok := c.run(c.collecting(strace(log)...)); !ok || e.code != 0 {
		return record{}, fmt.Errorf("%s under strace: %v", sc.name, e)
	}
	return readRecord(log)
}

// A hit is one call of one scenario at which to interfere. strace counts the
// calls of each thread apart.
type hit struct {
	scenario
	call   string
	n      int
	errno  string // "": SIGKILL instead
	beyond bool   // and at all calls after it
}

func (h hit) String() string {
	what := "signal=KILL"
	if h.errno != "" {
		what = "error=" + h.errno
	}
	when := fmt.Sprint(h.n)
	if h.beyond {
		when += "+"
	}
	return fmt.Sprintf("%s:%s:when=%s", h.call, what, when)
}

// hits returns where to interfere with the scenarios.
func hits(t *testing.T, at func(sc scenario, r record) []hit) (all []hit, totals map[string]int) {
	t.Helper()
	b := newBench(t)
	defer b.close()
	totals = map[string]int{}
	for _, sc := range chosen() {
		r, err := b.recorded(sc)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range r.calls {
			totals[sc.name+" "+name] = n
		}
		all = append(all, at(sc, r)...)
	}
	return all, totals
}

// fewer returns one hit of each kind, at random, where the test has no time
// for all of them.
func fewer(all []hit) (some []hit) {
	if *every > 0 {
		return all
	}
	taken := map[string]bool{}
	for _, i := range rand.Perm(len(all)) {
		h := all[i]
		if kind := fmt.Sprint(h.call, h.errno, h.beyond); !taken[kind] {
			taken[kind] = true
			some = append(some, h)
		}
	}
	return some
}

// TestKilledAtSystemCalls kills each scenario on its way into a system call.
func TestKilledAtSystemCalls(t *testing.T) {
	all, totals := hits(t, func(sc scenario, r record) (all []hit) {
		for i, call := range calls {
			for _, n := range points(r.longest[call.name], i) {
				all = append(all, hit{scenario: sc, call: call.name, n: n})
			}
		}
		return all
	})
	all = fewer(all)
	n, reached := newTally(), newTally()
	each(t, all, func(b *bench, h hit) {
		c := b.try(h.scenario, "", "%v", h)
		log := c.dir + ".strace"
		defer os.Remove(log)
		e, ok := c.run(c.collecting(strace(log, h.String())...))
		if !ok {
			return
		}
		n.add("tried", 1)
		if e.signal == syscall.SIGKILL {
			r, err := readRecord(log)
			if err != nil {
				c.fail("%v", err)
			}
			n.add("killed", 1)
			n.add(h.call, 1)
			// Which one it was of all threads' calls of this name.
			reached.add(fmt.Sprintf("%s %s %d", h.name, h.call, r.calls[h.call]), 1)
		}
		c.judge(e, 1)
		n.add("signed in again", c.signedIn)
	})
	possible := 0
	for _, calls := range totals {
		possible += calls
	}
	t.Logf("killed on the way into a system call: %d of %d processes, at %d of %d different calls: %v",
		n.count("killed"), n.count("tried"), len(reached.n), possible, n.n)
	for _, call := range []string{"pwrite64", "fsync", "fcntl", "write"} {
		if n.count(call) == 0 && *every > 0 {
			t.Errorf("none was killed at %s", call)
		}
	}
	if n.count("killed") == 0 {
		t.Error("none was killed")
	}
}

// failures returns where to let the calls of a scenario fail.
func failures(sc scenario, r record) (all []hit) {
	for i, call := range calls {
		for _, errno := range call.errors {
			at := points(r.longest[call.name], i)
			if call.name == "fcntl" { // SQLite waits for a lock for half a minute, and longer
				if *every == 0 || sc.name != "details" {
					continue
				}
				at = at[:min(len(at), few)]
			}
			for _, n := range at {
				all = append(all, hit{sc, call.name, n, errno, false})
			}
			// From then on: the number of cases does not grow with the run.
			for _, n := range []int{1, r.longest[call.name] / 2} {
				if n > 0 && call.name != "fcntl" {
					all = append(all, hit{sc, call.name, n, errno, true})
				}
			}
		}
	}
	return all
}

// TestSystemCallsFail lets a system call of each scenario fail, once or from
// then on.
func TestSystemCallsFail(t *testing.T) {
	all, _ := hits(t, failures)
	all = fewer(all)
	n, codes := newTally(), newTally()
	each(t, all, func(b *bench, h hit) {
		c := b.try(h.scenario, "", "%v", h)
		log := c.dir + ".strace"
		defer os.Remove(log)
		p := c.collecting(strace(log, h.String())...)
		if h.call == "fcntl" {
			// A lock that SQLite cannot give back makes it wait for itself, for
			// half a minute, and a second each time afterwards.
			p.patience = 2 * time.Minute
		}
		e, ok := c.run(p)
		if !ok {
			return
		}
		r, err := readRecord(log)
		if err != nil {
			c.fail("%v", err)
		}
		if r.injected > 0 {
			n.add(h.call+" "+h.errno, 1)
			n.add("processes", 1)
			n.add("errors", r.injected)
			codes.add(fmt.Sprint(e.code), 1)
		}
		// What cannot be opened may be any file, of the Go runtime and the loader, too.
		if e.code == 70 || e.code < 0 || e.code == 1 && !strings.HasPrefix(h.call, "open") {
			c.fail("no answer to an error of the kernel: %v", e)
		}
		c.judge(e, 1)
		n.add("signed in again", c.signedIn)
	})
	t.Logf("%d errors in %d processes: %v; exit codes: %v", n.count("errors"), n.count("processes"), n.n, codes.n)
	for _, what := range []string{"pwrite64 EIO", "pwrite64 ENOSPC", "fsync EIO", "fcntl ENOLCK", "flock ENOLCK"} {
		if n.count(what) == 0 && *every > 0 && *only == "" {
			t.Errorf("there was no %s", what)
		}
	}
	if n.count("errors") == 0 {
		t.Error("no error reached a process")
	}
}

// Package crash disturbs the binary as it is shipped, in every way in which a
// process, a kernel or a disk can fail it, and judges what is left.
//
// A scenario is a command, with a database as it was before it and a provider
// on a real socket: a first run, a run beside another connector, a resume, a
// backfill, details by four workers, a credential that has been renewed, and
// one that is renewed on the way. Each is disturbed
//
//   - by SIGKILL at random moments, again and again ([TestKilled]);
//   - by SIGKILL at each of its system calls, and by errors of the kernel
//     instead of their results, with strace ([TestKilledAtSystemCalls],
//     [TestSystemCallsFail]);
//   - by power cuts at each thing it does with its disk, after which nothing is
//     there that was not synced, or a part of it ([TestPowerCuts]), and by a
//     disk that fails ([TestDiskFails]);
//   - by disks that are too small ([TestDiskFull]);
//   - by the signals of people and of schedulers ([TestSignals]).
//
// Then the same command runs once more, undisturbed, and must need no one's
// help. The judge asks for an intact database that holds whatever was reported
// as saved, an export that equals an undisturbed one byte for byte, nothing
// left owed, no file left beside the database, no exit code 0 while something
// is missing, and, of the provider's journal, at most one slice for each worker
// that was fetched twice.
//
// The tests sample; scripts/crash takes every N-th point, or all of them.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

var (
	kills = flag.Int("crash.kills", 20, "kill at this many random moments")
	every = flag.Int("crash.every", 0, "disturb each scenario at every N-th point; 0: at a few")
	only  = flag.String("crash.scenario", "", "disturb the scenario of this name only")
)

// workers is how many cases run at once.
const workers = 2

// few is how many points of one kind a test has time for.
const few = 3

var (
	root   string // of the repository
	binary string // the command as it is shipped
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	flag.Parse()
	if len(chosen()) == 0 {
		return 0, fmt.Errorf("there is no scenario %q", *only)
	}
	var err error
	if root, err = filepath.Abs("../.."); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "collect-crash-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "collect")
	if err := build(root, binary, "."); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// build builds a package in dir with flags of the go command.
func build(dir, to, what string, flags ...string) error {
	c := exec.Command("go", append(append([]string{"build", "-o", to}, flags...), what)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", what, err, out)
	}
	return nil
}

// chosen returns the scenarios to disturb.
func chosen() []scenario {
	if *only == "" {
		return scenarios
	}
	return slices.DeleteFunc(slices.Clone(scenarios), func(sc scenario) bool { return sc.name != *only })
}

// points returns the numbers from 1 to n at which to disturb, spread evenly:
// every N-th if the flag says so, else a few.
func points(n, seed int) (at []int) {
	step := *every
	if step == 0 {
		step = max(1, n/few)
	}
	for i := 1 + seed%step; i <= n; i += step {
		at = append(at, i)
	}
	return at
}

// each runs do for all jobs, several at once, each worker with stations of its
// own.
func each[J any](t *testing.T, jobs []J, do func(*bench, J)) {
	t.Helper()
	queue := make(chan J)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			b := newBench(t)
			defer b.close()
			for job := range queue {
				do(b, job)
			}
		})
	}
	for _, job := range jobs {
		queue <- job
	}
	close(queue)
	group.Wait()
}

//go:build linux

// Package chaos disturbs a fleet: workers of the binary as it is shipped, on machines of
// their own as far as the network is concerned, with a Postgres server and a provider.
//
// A history is one fleet to which faults happen, one after the other, drawn from a seed
// that is printed:
//
//   - no packet passes between a worker and the server, or none in one direction,
//     for less than a lease lasts or until others have taken over ([TestPartitions]);
//   - workers are stopped and killed, and the server ends at once and starts
//     again ([TestKills]);
//   - the server dies, with or without a word to those who are connected, and its
//     standby, which may lack the newest commits, takes its place ([TestPromotions]);
//   - the clock of a worker is set by ten minutes ([TestClockSteps]).
//
// The lists of the provider end after the last fault. Then nobody helps, and the judge
// asks for what docs/fleet.md promises: every record is there once, each page was
// committed once, no commit is older than one of a run that succeeded its own, nothing is
// left owed, and all workers end in order. A fault counts only if it struck: its worker
// had been asking the provider a moment before.
//
// The tests play a few faults each; scripts/crash --fleet plays as many as it is told to.
package chaos_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	times = flag.Int("chaos.times", 0, "so many faults in each test; 0: a few")
	seed  = flag.Uint64("chaos.seed", 0, "the seed of the first history; 0: any")
)

// each is how many faults a history has at most.
const each = 10

var binary string // the command as it is shipped

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("chaos: slow")
		return 0, nil
	}
	if os.Getuid() != 0 {
		return asRoot()
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "collect")
	if err := build(binary); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// asRoot runs the tests as root, which a network namespace takes: by sudo without a password.
func asRoot() (int, error) {
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return 0, fmt.Errorf("go env: %w", err)
	}
	c := exec.Command("sudo", append([]string{"-n", "env", "PATH=" + os.Getenv("PATH"),
		"GOMODCACHE=" + strings.TrimSpace(string(modules)), "GOFLAGS=-buildvcs=false -modcacherw", os.Args[0]}, os.Args[1:]...)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	err = c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func build(to string, flags ...string) error {
	c := exec.Command("go", append(append([]string{"build", "-o", to}, flags...), ".")...)
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	return nil
}

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/tools/go/packages"
)

// A fate is what becomes of a mutant.
type fate string

const (
	noticed   fate = "noticed"
	alive     fate = "alive"
	unreached fate = "unreached" // no test comes to its place
	hung      fate = "hung"      // a test did not end
)

const (
	quick    = 300 * time.Millisecond // tests that take less run together
	patience = 8 * time.Second        // of a processor that tests may use with a mutant,
	times    = 8                      // and this many times what they use without one
	shared   = 4                      // of the time of a clock, which others on the machine take their part of
	memory   = 8 << 20                // KiB of address space, so that a loop that allocates ends
)

// A bench is the tests of a package with all mutants in them.
type bench struct {
	*rewriter
	binary string
	dir    string // of the package
	home   string // of the tests
	work   string
	flags  []string
	tests  []test // the quick ones first
}

// A test is a top-level test, and the mutants that it comes to.
type test struct {
	name    string
	took    time.Duration
	reaches map[int]bool
}

// build builds the tests for a package with those of its mutants that compile.
func build(ctx context.Context, pattern, tests, work string, only func(mutant) bool) (*bench, error) {
	loaded, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile}, pattern)
	if err != nil {
		return nil, err
	}
	if len(loaded) != 1 || len(loaded[0].Errors) > 0 || len(loaded[0].GoFiles) == 0 {
		return nil, fmt.Errorf("%s is not one package that compiles", pattern)
	}
	pkg := loaded[0]
	b := &bench{binary: filepath.Join(work, "mutated.test"), dir: filepath.Dir(pkg.GoFiles[0]), work: work}
	b.home = b.dir
	if tests != pattern {
		if b.home, err = filepath.Abs(tests); err != nil {
			return nil, err
		}
	}
	skip := map[int]bool{}
	for {
		b.rewriter = &rewriter{pkg: pkg, skip: skip, only: only, imports: map[string]int{}}
		overlay, err := b.overlay()
		if err != nil {
			return nil, err
		}
		out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.binary, tests).CombinedOutput()
		if err == nil {
			break
		}
		before := len(skip)
		b.blame(out)
		if len(skip) == before {
			return nil, fmt.Errorf("%s\n%w", out, err)
		}
	}
	return b, nil
}

// overlay writes the mutated files, and returns the name of the list of them.
func (b *bench) overlay() (string, error) {
	replace := map[string]string{}
	add := func(name string, text []byte) error {
		to := filepath.Join(b.work, filepath.Base(name))
		replace[name] = to
		return os.WriteFile(to, text, 0o666)
	}
	for _, file := range b.pkg.Syntax {
		name := b.pkg.Fset.Position(file.FileStart).Filename
		src, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := add(name, b.file(file, src)); err != nil {
			return "", err
		}
	}
	if err := add(filepath.Join(b.dir, "zz_mutate.go"), b.support()); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(b.work, "overlay.json")
	return name, os.WriteFile(name, list, 0o666)
}

var (
	complaint = regexp.MustCompile(`(?m)^(?:\S*/)?([^/\s:]+\.go):(\d+):`)
	question  = regexp.MustCompile(`mutateOn\((\d+)\)`)
)

// blame leaves out the mutants that the compiler complains about: those of the
// line, or of the nearest line before it that has any.
func (b *bench) blame(out []byte) {
	for _, c := range complaint.FindAllSubmatch(out, -1) {
		text, err := os.ReadFile(filepath.Join(b.work, string(c[1])))
		if err != nil {
			continue
		}
		lines := bytes.Split(text, []byte("\n"))
		n, _ := strconv.Atoi(string(c[2]))
		for n = min(n, len(lines)); n > 0; n-- {
			ids := question.FindAllSubmatch(lines[n-1], -1)
			for _, id := range ids {
				i, _ := strconv.Atoi(string(id[1]))
				b.skip[i] = true
			}
			if len(ids) > 0 {
				break
			}
		}
	}
}

// survey runs each test alone, without a mutant, to know how long it takes and
// what it comes to. A test that fails is not asked.
func (b *bench) survey(ctx context.Context) error {
	help, _ := exec.CommandContext(ctx, b.binary, "-help").CombinedOutput()
	if bytes.Contains(help, []byte("rapid.nofailfile")) {
		b.flags = []string{"-rapid.nofailfile", "-rapid.shrinktime=1ms"}
	}
	list, err := b.command(ctx, time.Hour, nil, "-test.list=^(Test|Fuzz|Example)").Output()
	if err != nil {
		return err
	}
	reached := filepath.Join(b.work, "reached")
	for line := range strings.Lines(string(list)) {
		t := test{name: strings.TrimSpace(line), reaches: map[int]bool{}}
		if err := shareFile(reached); err != nil {
			return err
		}
		began := time.Now()
		out, err := b.command(ctx, time.Hour, []string{"MUTANTS_REACHED=" + reached}, "-test.run=^"+t.name+"$").CombinedOutput()
		t.took = time.Since(began)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Printf("%s fails as it is, and is not asked: %s\n", t.name, lastLine(out))
		} else if t.reaches, err = readIDs(reached); err != nil {
			return err
		}
		b.tests = append(b.tests, t)
	}
	slices.SortStableFunc(b.tests, func(x, y test) int { return cmp.Compare(x.took, y.took) })
	return nil
}

// shareFile makes an empty file that every user may write to: some tests start
// processes of another.
func shareFile(name string) error {
	return errors.Join(os.WriteFile(name, nil, 0o666), os.Chmod(name, 0o666))
}

func lastLine(out []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return lines[len(lines)-1]
}

func readIDs(name string) (map[int]bool, error) {
	ids := map[int]bool{}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		id, err := strconv.Atoi(lines.Text())
		if err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, lines.Err()
}

// try runs the tests that come to m, the quick ones together, until one of
// them fails.
func (b *bench) try(ctx context.Context, m mutant) (fate, error) {
	var together []string
	var took time.Duration
	var groups [][]string
	var limits []time.Duration
	for _, t := range b.tests {
		switch {
		case !t.reaches[m.id]:
		case t.took < quick:
			together, took = append(together, t.name), took+t.took
		default:
			groups, limits = append(groups, []string{t.name}), append(limits, t.took)
		}
	}
	if len(together) > 0 {
		groups, limits = slices.Insert(groups, 0, together), slices.Insert(limits, 0, took)
	}
	if len(groups) == 0 {
		return unreached, nil
	}
	for i, names := range groups {
		became, err := b.run(ctx, m, names, patience+times*limits[i])
		if became != alive || err != nil {
			return became, err
		}
	}
	return alive, nil
}

func (b *bench) run(ctx context.Context, m mutant, tests []string, limit time.Duration) (fate, error) {
	limited, cancel := context.WithTimeout(ctx, shared*limit)
	defer cancel()
	cmd := b.command(limited, limit, []string{"MUTANT=" + strconv.Itoa(m.id)},
		"-test.failfast", "-test.run=^("+strings.Join(tests, "|")+")$")
	out, err := cmd.CombinedOutput()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil, failed && exit.UserTime()+exit.SystemTime() >= limit:
		return hung, nil
	case err == nil:
		return alive, nil
	case failed:
		return noticed, nil
	}
	return "", fmt.Errorf("%s: %w", out, err)
}

// command returns the tests with args, in their directory, in a group of processes.
// The group ends with ctx, and each process of it when it has used its limit of a
// processor.
func (b *bench) command(ctx context.Context, limit time.Duration, env []string, args ...string) *exec.Cmd {
	limited := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$@"`, memory, 1+limit/time.Second)
	cmd := exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", limited, "sh", b.binary}, args, b.flags)...)
	cmd.Dir = b.home
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

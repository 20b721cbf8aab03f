package crash_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A disk is a file system whose power can be cut: see e2e/disk. It is a
// process of its own, steered by lines.
type disk struct {
	dir     string
	process *exec.Cmd
	in      io.WriteCloser
	answers chan string
	off     chan string // at which step the power was cut
}

// diskBinary is the program that mounts one.
var diskBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "disk")
	return path, build(filepath.Join(root, "e2e"), path, "./cmd/disk")
})

// mount mounts a new disk at a directory. It takes root, or sudo without a
// password.
func mount(dir string) (*disk, error) {
	program, err := diskBinary()
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	d := &disk{dir: dir, process: exec.Command(program, dir), answers: make(chan string), off: make(chan string, 1)}
	if os.Getuid() != 0 {
		d.process = exec.Command("sudo", "-n", program, dir)
	}
	d.process.Stderr = os.Stderr
	if d.in, err = d.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.process.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(d.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if step, ok := strings.CutPrefix(lines.Text(), "off "); ok {
				d.off <- step
			} else {
				d.answers <- strings.TrimPrefix(lines.Text(), "ok")
			}
		}
	}()
	return d, d.answer()
}

// do gives the disk a command, and scans its answer into the values.
func (d *disk) do(command string, into ...any) error {
	if _, err := fmt.Fprintln(d.in, command); err != nil {
		return fmt.Errorf("disk: %s: %w", command, err)
	}
	return d.answer(into...)
}

func (d *disk) answer(into ...any) error {
	select {
	case text, ok := <-d.answers:
		if !ok {
			return errors.New("disk: it is gone")
		}
		_, err := fmt.Sscan(text, into...)
		return err
	case <-time.After(patience):
		return errors.New("disk: no answer")
	}
}

// close takes the disk away.
func (d *disk) close() error { return errors.Join(d.in.Close(), d.process.Wait()) }

// A cut is one power cut.
type cut struct {
	scenario
	step int    // of the disk; the power is cut instead of it
	mode string // what survives: see e2e/disk
	seed uint64
}

// modes are what can survive of what was not synced, and how often each is
// tried: what chance leaves is different every time.
var modes = []string{"synced", "some", "torn", "some", "torn", "all"}

// diskFor returns the disk of a bench.
func (b *bench) diskFor() *disk {
	if b.disk == nil {
		d, err := mount(b.path("disk"))
		if err != nil {
			b.t.Error(err)
			return nil
		}
		b.disk = d
	}
	return b.disk
}

// steps counts what a scenario does with its disk.
func (b *bench) steps(sc scenario) (n int) {
	d := b.diskFor()
	if d == nil {
		return 0
	}
	c := b.try(sc, d.dir, "its steps are counted")
	defer c.clean()
	err := errors.Join(d.do("settle"), d.do("arm 0"))
	if e, ok := c.run(c.collecting()); !ok || e.code != 0 {
		c.fail("%v", e)
	}
	if err := errors.Join(err, d.do("steps", &n)); err != nil || n == 0 {
		c.fail("%d steps, %v", n, err)
	}
	return n
}

// TestPowerCuts cuts the power at each step of each scenario: nothing that was
// reported as saved may be lost.
func TestPowerCuts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var cuts []cut
	counting := newBench(t)
	for i, sc := range chosen() {
		steps := counting.steps(sc)
		for _, step := range points(steps, i) {
			cuts = append(cuts, cut{sc, step, modes[(step+i)%len(modes)], seed + uint64(step)})
		}
	}
	counting.close()
	n := newTally()
	each(t, cuts, func(b *bench, x cut) {
		c, e, ok := b.powerCut(x, n)
		if ok {
			n.add("reported commits", len(c.acked))
			c.judge(e, 1)
			n.add("signed in again", c.signedIn)
		}
	})
	t.Logf("%d power cuts: %v", n.count("cuts"), n.n)
	for _, what := range []string{"cuts", "reported commits", "names lost", "pages lost", "pages torn"} {
		if n.count(what) == 0 && *every > 0 {
			t.Errorf("%s: none", what)
		}
	}
	if n.count("cuts") == 0 || n.count("reported commits") == 0 {
		t.Error("this proves nothing")
	}
}

// powerCut runs a scenario until the power is cut, kills what is left of it,
// and turns the power on again.
func (b *bench) powerCut(x cut, n *tally) (c *trial, e ending, ok bool) {
	d := b.diskFor()
	if d == nil {
		return nil, e, false
	}
	c = b.try(x.scenario, d.dir, "power cut at step %d, %s, seed %d", x.step, x.mode, x.seed)
	c.dark = true
	p := c.collecting()
	if err := errors.Join(d.do("settle"), d.do(fmt.Sprint("arm ", x.step)), p.start()); err != nil {
		c.fail("%v", err)
		return c, e, false
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e, ok = c.ended(p)
	}()
	select {
	case step := <-d.off:
		_ = p.Process.Kill() // nothing that it did since has any effect
		<-done
		n.add("cuts", 1)
		n.add("at "+step, 1)
	case <-done: // it took fewer steps this time: the power fails after its end
		if err := d.do("cut"); err != nil {
			c.fail("%v", err)
		}
		<-d.off
		n.add("cuts", 1)
		n.add("after its end", 1)
	}
	var names, pages, torn int
	if err := d.do(fmt.Sprintf("restore %s %d", x.mode, x.seed), &names, &pages, &torn); err != nil {
		c.fail("%v", err)
		return c, e, false
	}
	n.add("names lost", names)
	n.add("pages lost", pages)
	n.add("pages torn", torn)
	return c, e, ok
}

// TestDiskFails lets one step of the disk fail, or all from then on, without a
// loss of power. A sync that failed leaves what it should have saved unsaved.
func TestDiskFails(t *testing.T) {
	var cuts []cut
	counting := newBench(t)
	for i, sc := range chosen() {
		steps := counting.steps(sc)
		for _, step := range points(steps, i) {
			mode := []string{"%d EIO", "%d ENOSPC", "%d+ EIO", "%d+ ENOSPC"}[(step+i)%4]
			cuts = append(cuts, cut{scenario: sc, step: step, mode: fmt.Sprintf(mode, step)})
		}
	}
	counting.close()
	n := newTally()
	each(t, cuts, func(b *bench, x cut) {
		d := b.diskFor()
		if d == nil {
			return
		}
		c := b.try(x.scenario, d.dir, "disk fails %s", x.mode)
		if err := errors.Join(d.do("settle"), d.do("fail "+x.mode)); err != nil {
			c.fail("%v", err)
			return
		}
		e, ok := c.run(c.collecting())
		if !ok {
			return
		}
		var all, failed int
		if err := errors.Join(d.do("steps", &all, &failed), d.do("fail 0 EIO")); err != nil {
			c.fail("%v", err)
		}
		n.add("failures", failed)
		if failed > 0 {
			n.add("processes", 1)
			n.add(fmt.Sprint("exit code ", e.code), 1)
		}
		if e.code == 1 || e.code == 70 || e.code < 0 {
			c.fail("no answer to a disk that fails: %v", e)
		}
		c.judge(e, 1)
		n.add("signed in again", c.signedIn)
	})
	t.Logf("a disk failed %d times in %d processes: %v", n.count("failures"), n.count("processes"), n.n)
	if n.count("failures") == 0 {
		t.Error("it never did")
	}
}

// faulty are binaries whose commits, or whose directories, are not flushed when
// they are reported. A power cut must be seen to lose something of theirs: else
// TestPowerCuts proves nothing.
var faulty = []struct{ name, file, old, new string }{
	{"synchronous=OFF", "store/sqlite/internal/connect/connect.go", "synchronous(FULL)", "synchronous(OFF)"},
	{"synchronous=NORMAL", "store/sqlite/internal/connect/connect.go", "synchronous(FULL)", "synchronous(NORMAL)"},
	{"directories not synced", "internal/dirsync/dirsync.go", "d.Sync()", "error(nil)"},
}

// TestPowerCutsAreSeen builds binaries that do not flush, cuts their power, and
// wants commits to be missed.
func TestPowerCutsAreSeen(t *testing.T) {
	for i, f := range faulty {
		if *every == 0 && i > 0 {
			continue // each is a build
		}
		t.Run(f.name, func(t *testing.T) {
			twin := plant(t, f.file, f.old, f.new)
			b := newBench(t)
			defer b.close()
			rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
			sc := scenarios[0]
			steps, lost, reported := b.steps(sc), 0, 0
			b.binary = twin
			const cuts = 20
			for range cuts {
				c, _, ok := b.powerCut(cut{sc, steps/2 + rnd.IntN(steps/2), "synced", 0}, newTally())
				if !ok {
					return
				}
				found, err := c.lookAtCopy()
				if err != nil {
					t.Fatal(err)
				}
				reported += len(c.acked)
				for _, commit := range c.acked {
					if !found.commits[commit] {
						lost++
					}
				}
				c.clean()
			}
			t.Logf("%s: %d of %d reported commits lost in %d power cuts", f.name, lost, reported, cuts)
			if lost == 0 {
				t.Error("no loss was seen: the power cuts prove nothing")
			}
		})
	}
}

// plant builds the binary with a text of a source file replaced.
func plant(t *testing.T, file, old, new string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(root, file)
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), old) != 1 {
		t.Fatalf("%s does not hold %q once", file, old)
	}
	planted, overlay := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
	text := fmt.Sprintf(`{"Replace": {%q: %q}}`, path, planted)
	if err := errors.Join(
		os.WriteFile(planted, []byte(strings.Replace(string(source), old, new, 1)), 0o600),
		os.WriteFile(overlay, []byte(text), 0o600),
		build(root, filepath.Join(dir, "collect"), ".", "-overlay", overlay),
	); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "collect")
}

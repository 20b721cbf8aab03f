package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"collect/internal/pgtest"
	"collect/internal/provider"
)

// copyKills is how many copies TestCopyKilled ends with SIGKILL.
const copyKills = 8

// TestCopyKilled kills copies of a state at random moments, from a file to a server and from
// there to a file, and gives them again until they are whole. Then both are equal by the digests of all
// tables, and the next run with the copy asks for exactly what the next run with its source asks for.
func TestCopyKilled(t *testing.T) {
	binary := build(t)
	server, err := pgtest.Start("fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Remove()
	p := provider.New(provider.Script{Seed: 1, Tickets: 150})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	file := connectorFile(t, dir, url)
	path := filepath.Join(dir, "state.db")
	if out, err := exec.Command(binary, "run", file, "--max-requests", "100", "--create", "--state", path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := copies{t: t, binary: binary, rnd: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))}
	began := time.Now()
	want := c.digests(path, filepath.Join(dir, "whole.db"))
	c.takes = time.Since(began)

	served, back := "", ""
	for round := 0; c.killed < copyKills; round++ {
		if round > 5*copyKills {
			t.Fatalf("%d rounds killed only %d copies", round, c.killed)
		}
		served, back = server.Fresh(), filepath.Join(dir, fmt.Sprintf("back-%d.db", round))
		c.killing(path, served)
		c.killing(served, back)
		if got := c.digests(back, filepath.Join(dir, fmt.Sprintf("again-%d.db", round))); got != want {
			t.Fatalf("after %d kills the copy has\n%s\nits source has\n%s", c.killed, got, want)
		}
		for _, pattern := range []string{back + ".part*", back + "-*"} {
			if left, _ := filepath.Glob(pattern); left != nil {
				t.Errorf("beside the copy is left: %q", left)
			}
		}
	}
	t.Logf("%d copies were killed, which take %v", c.killed, c.takes)

	asked := func(state string) []string {
		before := len(p.Log())
		if out, err := exec.Command(binary, "resume", file, "--state", state).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var requests []string
		for _, e := range p.Log()[before:] {
			requests = append(requests, e.Path+"?"+e.Query)
		}
		slices.Sort(requests)
		return requests
	}
	next := asked(path)
	for _, state := range []string{served, back} {
		if got := asked(state); !slices.Equal(got, next) || len(got) < 50 {
			t.Errorf("%s: the next run asks for %d pieces %q, that of the source for %d: %q", state, len(got), got, len(next), next)
		}
	}
}

// copies are copies that the binary makes.
type copies struct {
	t      *testing.T
	binary string
	rnd    *rand.Rand
	takes  time.Duration // about what one takes
	killed int
}

// killing copies a state, and kills the copy again and again until it is whole.
func (c *copies) killing(from, to string) {
	c.t.Helper()
	for within := c.takes; ; within += c.takes / 2 { // a busy machine takes longer
		var stderr bytes.Buffer
		copy := exec.Command(c.binary, "state", "copy", from, to)
		copy.Stderr = &stderr
		if err := copy.Start(); err != nil {
			c.t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(c.rnd.Int64N(int64(within))), func() { _ = copy.Process.Kill() })
		err := copy.Wait()
		timer.Stop()
		switch {
		case err == nil, bytes.Contains(stderr.Bytes(), []byte("E0714")): // it was killed when all was done
			return
		case !wasKilled(err):
			c.t.Fatalf("%s to %s after %d kills: %v\n%s", from, to, c.killed, err, stderr.Bytes())
		}
		c.killed++
	}
}

// digests copies a state, and returns what the proof says.
func (c *copies) digests(from, to string) string {
	c.t.Helper()
	copy := exec.Command(c.binary, "state", "copy", from, to, "--json")
	copy.Stderr = os.Stderr
	out, err := copy.Output()
	if err != nil {
		c.t.Fatalf("%s to %s: %v", from, to, err)
	}
	var proof struct {
		Equal  bool
		Tables []struct {
			Table string
			Rows  int64
			SHA   string `json:"sha256"`
		}
	}
	if err := json.Unmarshal(out, &proof); err != nil || !proof.Equal || len(proof.Tables) < 20 {
		c.t.Fatalf("%s to %s: %v %s", from, to, err, out)
	}
	var text bytes.Buffer
	for _, of := range proof.Tables {
		fmt.Fprintln(&text, of.Table, of.Rows, of.SHA)
	}
	return text.String()
}

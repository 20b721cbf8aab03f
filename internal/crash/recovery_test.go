package crash_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"collect/internal/provider"
)

var (
	recoverySize = flag.Int64("crash.recovery", 8<<20, "kill runs with a database of this many bytes, and measure how long the next one takes to its first request")
	recoveries   = flag.Int("crash.recoveries", 3, "this often")
)

// TestRecovery measures what a kill costs: the time from the start of the next
// process to its first request. It only measures.
func TestRecovery(t *testing.T) {
	p := provider.New(provider.Script{Seed: 1, Flat: int(*recoverySize/150) + 200_000})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	dir := t.TempDir()
	b := &bench{t: t, dir: dir, provider: p, binary: binary}
	b.write("flat.yaml", fmt.Sprintf("connector: flat\nprovider: {base_url: %q, pace: off}\nstreams:\n"+
		"  flat: {get: /flat, records: items, key: id, page: {number: {param: page, size_param: per_page, size: 100}}}\n", url))
	state := b.path("state.db")
	collecting := func() *process { return b.prepare(state, []string{"run", "flat.yaml", "--create", "-q"}) }

	// At least so many pages are collected before a kill, so that the log holds
	// all it ever does.
	const pages = 100
	size := func() int64 {
		info, err := os.Stat(state)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	var took []time.Duration
	for range *recoveries + 1 {
		grow := collecting()
		grow.patience = 6 * time.Minute
		if err := grow.start(); err != nil {
			t.Fatal(err)
		}
		before := len(p.Log())
		for size() < *recoverySize || len(p.Log()) < before+pages {
			time.Sleep(time.Millisecond)
			if time.Since(grow.began) > 5*time.Minute {
				t.Fatal("the database does not grow")
			}
		}
		if err := grow.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		e, err := grow.end()
		if err != nil || e.signal != syscall.SIGKILL {
			t.Fatalf("while the database grows: %v, %v", e, err)
		}
		wal, err := os.Stat(state + "-wal")
		if err != nil {
			t.Fatal(err)
		}

		p.Forget()
		next := collecting()
		if err := next.start(); err != nil {
			t.Fatal(err)
		}
		for len(p.Log()) == 0 {
			time.Sleep(100 * time.Microsecond)
			if time.Since(next.began) > patience {
				t.Fatal("the next process makes no request")
			}
		}
		took = append(took, p.Log()[0].Time.Sub(next.began))
		t.Logf("killed at %d MB with a log of %d kB: the first request comes %v after the start",
			size()>>20, wal.Size()>>10, took[len(took)-1].Round(100*time.Microsecond))
		_ = next.Process.Signal(syscall.SIGTERM)
		if e, err := next.end(); err != nil || e.code != 143 {
			t.Fatalf("after the recovery: %v, %v", e, err)
		}
	}
	slices.Sort(took)
	t.Logf("recovery with a database of %d MB: median %v, longest %v, of %d", size()>>20,
		took[len(took)/2].Round(100*time.Microsecond), took[len(took)-1].Round(100*time.Microsecond), len(took))
}

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
	b := newFlatBench(t)
	var took []time.Duration
	for range *recoveries {
		log := b.growAndKill(t)
		took = append(took, b.recover(t))
		t.Logf("killed at %d MB with a log of %d kB: the first request comes %v after the start",
			b.size()>>20, log>>10, took[len(took)-1].Round(100*time.Microsecond))
	}
	slices.Sort(took)
	t.Logf("recovery with a database of %d MB: median %v, longest %v, of %d", b.size()>>20,
		took[len(took)/2].Round(100*time.Microsecond), took[len(took)-1].Round(100*time.Microsecond), len(took))
}

// A flatBench collects one long stream into one database.
type flatBench struct {
	*bench
	state string
}

func newFlatBench(t *testing.T) *flatBench {
	t.Helper()
	p := provider.New(provider.Script{Seed: 1, Flat: int(*recoverySize/150) + 200_000})
	url, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	b := &flatBench{bench: &bench{t: t, dir: t.TempDir(), provider: p, binary: binary}}
	b.state = b.path("state.db")
	b.write("flat.yaml", fmt.Sprintf("connector: flat\nprovider: {base_url: %q, pace: off}\nstreams:\n"+
		"  flat: {get: /flat, records: items, key: id, page: {number: {param: page, size_param: per_page, size: 100}}}\n", url))
	return b
}

func (b *flatBench) collecting() *process {
	return b.prepare(b.state, []string{"run", "flat.yaml", "--create", "-q"})
}

// size is that of the database.
func (b *flatBench) size() int64 {
	info, err := os.Stat(b.state)
	if err != nil {
		return 0
	}
	return info.Size()
}

// growAndKill lets the database grow to its size, and some pages further, so
// that the log holds all it ever does. It returns the size of the log.
func (b *flatBench) growAndKill(t *testing.T) int64 {
	t.Helper()
	const pages = 100
	p := b.collecting()
	p.patience = 6 * time.Minute
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	before := len(b.provider.Log())
	for b.size() < *recoverySize || len(b.provider.Log()) < before+pages {
		time.Sleep(time.Millisecond)
		if time.Since(p.began) > p.patience {
			t.Fatal("the database does not grow")
		}
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if e, err := p.end(); err != nil || e.signal != syscall.SIGKILL {
		t.Fatalf("while the database grows: %v, %v", e, err)
	}
	log, err := os.Stat(b.state + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return log.Size()
}

// recover starts the next process, and returns how long it takes to its first
// request.
func (b *flatBench) recover(t *testing.T) time.Duration {
	t.Helper()
	// The last request of the killed process may still be on its way to the log.
	for began := time.Now(); b.provider.Stats().Connections > 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal("a connection of the killed process stays open")
		}
	}
	b.provider.Forget()
	p := b.collecting()
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	for len(b.provider.Log()) == 0 {
		time.Sleep(100 * time.Microsecond)
		if time.Since(p.began) > patience {
			t.Fatal("it makes no request")
		}
	}
	took := b.provider.Log()[0].Time.Sub(p.began)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if e, err := p.end(); err != nil || e.code != 143 {
		t.Fatalf("after its first request: %v, %v", e, err)
	}
	return took
}

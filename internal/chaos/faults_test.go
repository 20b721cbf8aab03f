//go:build linux

package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A fault happens to a fleet, and returns what it was; missed says that it did not strike.
type fault func(*fleet) string

const missed = ", missed"

// disturb plays histories with faults, and asks for each kind of them.
func disturb(t *testing.T, few int, standby bool, faults map[string]fault) {
	t.Parallel()
	n := *times
	if n == 0 {
		n = few
	}
	var mu sync.Mutex
	struck := map[string]int{}
	kinds := slices.Sorted(maps.Keys(faults))
	t.Run("histories", func(t *testing.T) {
		for first := 0; first < n; first += each {
			t.Run(fmt.Sprint("seed ", *seed+uint64(first)), func(t *testing.T) {
				t.Parallel()
				f := newFleet(t, *seed+uint64(first), standby)
				f.whole()
				for i := first; i < min(n, first+each); i++ {
					kind := kinds[i%len(kinds)] // each as often
					began := time.Now()
					what := faults[kind](f)
					t.Logf("%s: %s, %.1f s", kind, what, time.Since(began).Seconds())
					f.whole()
					if !strings.HasSuffix(what, missed) {
						mu.Lock()
						struck[kind]++
						mu.Unlock()
					}
				}
				f.judge()
			})
		}
	})
	t.Logf("faults that struck: %v", struck)
	for _, kind := range kinds {
		if struck[kind] == 0 && n >= len(kinds) {
			t.Errorf("%s: none struck", kind)
		}
	}
}

// TestPartitions: no packet passes between a worker and the server, in one direction or
// both, for less than a lease or for longer.
func TestPartitions(t *testing.T) {
	partition := func(there, back bool) fault {
		return func(f *fleet) string {
			w, _ := f.busy()
			c := f.servers[0].cables[w.n]
			c.cut(there, back)
			f.pause(time.Second, 20*time.Second)
			c.mend()
			return fmt.Sprint("worker ", w.n)
		}
	}
	long := func(there, back bool) fault {
		return func(f *fleet) string {
			w, of := f.busy()
			c := f.servers[0].cables[w.n]
			c.cut(there, back)
			f.takenOver(w, of, time.Now().Add(5*time.Second))
			f.pause(time.Second, 5*time.Second)
			c.mend()
			return fmt.Sprint("worker ", w.n, ", ", of)
		}
	}
	disturb(t, 1, false, map[string]fault{
		"long, both ways":        long(true, true),
		"long, to the server":    long(true, false),
		"long, from the server":  long(false, true),
		"short, both ways":       partition(true, true),
		"short, to the server":   partition(true, false),
		"short, from the server": partition(false, true),
	})
}

// TestKills: workers are stopped beyond their lease or for a moment, and killed; the server ends at once, and is killed.
func TestKills(t *testing.T) {
	server := func(how syscall.Signal) fault {
		return func(f *fleet) string {
			w, _ := f.busy()
			f.servers[0].End(how)
			f.pause(0, 10*time.Second)
			f.servers[0].begin()
			return fmt.Sprint("with worker ", w.n, " at work")
		}
	}
	disturb(t, 4, false, map[string]fault{
		"killed": func(f *fleet) string {
			w, of := f.busy()
			w.kill()
			f.start(w)
			return fmt.Sprint("worker ", w.n, ", ", of)
		},
		"killed for a while": func(f *fleet) string {
			w, of := f.busy()
			at := time.Now()
			w.kill()
			f.takenOver(w, of, at)
			f.start(w)
			return fmt.Sprint("worker ", w.n, ", ", of)
		},
		"stopped beyond the lease": func(f *fleet) string {
			w, of := f.busy()
			w.signal(syscall.SIGSTOP)
			f.takenOver(w, of, time.Now().Add(time.Second))
			f.pause(0, 5*time.Second)
			w.signal(syscall.SIGCONT)
			return fmt.Sprint("worker ", w.n, ", ", of)
		},
		"stopped": func(f *fleet) string {
			w, _ := f.busy()
			w.signal(syscall.SIGSTOP)
			f.pause(0, 20*time.Second)
			w.signal(syscall.SIGCONT)
			return fmt.Sprint("worker ", w.n)
		},
		"server ends at once": server(syscall.SIGQUIT),
		"server killed":       server(syscall.SIGKILL),
	})
}

// TestPromotions: the server dies, and the standby takes its place. It has all that was committed,
// or lacks what came last; and the machines of the workers hear that the old one is gone, or
// do not, as its machine went with it. Then the old one is made the standby of the new.
func TestPromotions(t *testing.T) {
	promotion := func(behind, silent bool) fault {
		return func(f *fleet) string {
			w, _ := f.busy()
			old, next := f.servers[0], f.servers[1]
			if behind {
				if err := next.Unplug(); err != nil {
					f.Fatal(err)
				}
				f.pause(500*time.Millisecond, 3*time.Second)
				at := f.commits()
				f.await("a commit that the standby lacks", func() bool { return f.commits() > at })
			}
			before := f.commits()
			if silent {
				for _, c := range old.cables {
					c.cut(true, true)
				}
			}
			old.End(syscall.SIGKILL)
			if err := next.Promote(); err != nil {
				f.Fatal(err)
			}
			f.servers[0], f.servers[1] = next, old
			lost := before - f.commits()
			f.lost = f.lost || lost > 0
			from := time.Now()
			f.await("requests after the promotion", func() bool { return len(f.since(from)) > 2*len(connectors) })
			var err error
			old.on(func() { err = old.Follow(next.Server, settings...) })
			if err != nil {
				f.Fatal(err)
			}
			if silent {
				for _, c := range old.cables {
					c.mend()
				}
			}
			what := fmt.Sprintf("worker %d at work, %d commits lost", w.n, lost)
			if behind && lost <= 0 {
				what += missed
			}
			return what
		}
	}
	disturb(t, 2, true, map[string]fault{
		"nothing lost, heard of":     promotion(false, false),
		"commits lost, heard of":     promotion(true, false),
		"nothing lost, not heard of": promotion(false, true),
		"commits lost, not heard of": promotion(true, true),
	})
}

// commits counts the commits that the server has.
func (f *fleet) commits() (n int) {
	f.Helper()
	f.await("the server", func() bool { return f.db.QueryRow(`SELECT count(*) FROM slices`).Scan(&n) == nil })
	return n
}

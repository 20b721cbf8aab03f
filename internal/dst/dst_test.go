// Package dst plays whole histories of collecting, with everything that can go
// wrong in them, and checks that nothing is lost and nothing silently missing.
package dst_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"collect/store/sqlite"
)

var (
	seedCount = flag.Int("dst.seeds", 300, "play the histories of this many seeds")
	firstSeed = flag.Uint64("dst.first", 1, "the first of these seeds")
	oneSeed   = flag.Uint64("dst.seed", 0, "play the history of this seed only, and tell it")
)

// workers is how many histories are played at once: as many as there are
// cores where the tests of this project run.
const workers = 2

func TestHistories(t *testing.T) {
	template := emptyStore(t)
	if *oneSeed != 0 {
		h := play(t, *oneSeed, template, bug{})
		t.Log(h)
		if h.failed() {
			t.Fail()
		}
		return
	}
	total := map[string]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	seeds := make(chan uint64)
	for range workers {
		group.Go(func() {
			for seed := range seeds {
				h := play(t, seed, template, bug{})
				mu.Lock()
				for what, n := range h.counts {
					total[what] += n
				}
				total["requests"] += h.wire.arrivals
				if h.failed() {
					t.Errorf("%s", h)
				}
				mu.Unlock()
			}
		})
	}
	for i := range *seedCount {
		if t.Failed() {
			break
		}
		seeds <- *firstSeed + uint64(i)
	}
	close(seeds)
	group.Wait()
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%8d %s", total[what], what)
	}
}

// emptyStore returns the bytes of a store in which nothing happened yet.
func emptyStore(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

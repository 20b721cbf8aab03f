package dst_test

import (
	"flag"
	"sync"
	"testing"
)

var plantedSeeds = flag.Int("dst.planted-seeds", 2000, "look for each planted bug in the histories of so many seeds")

// TestPlantedBugsAreFound plants one bug after the other and plays histories
// until one of them notices. A bug that none notices is a hole in the oracle
// or in the histories, and everything they did not find may be hidden in it.
func TestPlantedBugsAreFound(t *testing.T) {
	template := emptyStore(t)
	for _, plant := range planted {
		name := plant().name
		t.Run(name, func(t *testing.T) {
			for i := range *plantedSeeds {
				h := play(t, *firstSeed+uint64(i), template, plant())
				if h.failed() {
					t.Logf("planted %q found by seed %d, after %d: %s", name, h.plan.seed, i+1, h.violations[0])
					return
				}
			}
			t.Errorf("not found by %d seeds", *plantedSeeds)
		})
	}
}

// A shared is a value of what is planted in several processes of one
// history.
type shared[T any] struct {
	mu    sync.Mutex
	value T
}

func (o *shared[T]) set(v T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value = v
}

func (o *shared[T]) get() T {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value
}

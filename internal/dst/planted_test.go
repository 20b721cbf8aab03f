package dst_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var plantedSeeds = flag.Int("dst.planted", 0, "look for each planted bug in the histories of so many seeds (120)")

// TestPlantedBugsAreFound plants one bug after the other and plays histories
// until one of them notices. A bug that none notices is a hole in the oracle
// or in the histories, and everything they did not find may be hidden in it.
func TestPlantedBugsAreFound(t *testing.T) {
	on := newTwin()
	for _, plant := range planted {
		name, most, first := plant().name, *plantedSeeds, *firstSeed
		t.Run(name, func(t *testing.T) {
			if most == 0 {
				if raced {
					t.Skip("takes more time than a test with the race detector has")
				}
				most, first = 120, max(first, plant().near)
			}
			for i := range most {
				h := play(t, newPlan(first+uint64(i)), on, plant())
				if h.failed() {
					t.Logf("planted %q found by seed %d, after %d: %s", name, h.plan.seed, i+1, h.violations[0])
					return
				}
			}
			t.Errorf("not found by %d seeds", most)
		})
	}
}

// TestPlantsApply: each bug that is planted inside a part changes one line that
// is there. scripts/dst says what the lines of its file are.
func TestPlantsApply(t *testing.T) {
	files, err := filepath.Glob("planted/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("planted: %q, %v", files, err)
	}
	for _, file := range files {
		plant, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(plant), "\n")
		source, err := os.ReadFile(filepath.Join("..", "..", lines[0]))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if n := strings.Count(string(source), strings.TrimSpace(lines[1])); n != 1 {
			t.Errorf("%s: the line to be changed is in %s %d times, want once", file, lines[0], n)
		}
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

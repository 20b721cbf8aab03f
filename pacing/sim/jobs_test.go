package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// ordinary draws a latency around 100 ms.
func ordinary(rng *rand.Rand) float64 { return 0.1 * math.Exp(0.3*rng.NormFloat64()) }

// perSecond is what an owner declares who allows n a second.
func perSecond(n int) collection.Provider {
	return collection.Provider{Ceilings: []collection.Ceiling{{Count: n, Per: time.Second}}}
}

// granted is the most that leaves in a second of a ceiling of n a second: its window leaves 50 ms of room.
func granted(n float64) float64 { return n / 1.05 }

// TestJobsStayAsFastAsTheSecond: what a job learned is not lost to its age, nor
// to how little one run asks for.
func TestJobsStayAsFastAsTheSecond(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	limits := []struct {
		name string
		make func() sim.Limiter
	}{
		{"no limit", func() sim.Limiter { return nil }},
		{"100 a second", func() sim.Limiter { return sim.Bucket(100, 100) }},
		{"12 a second", func() sim.Limiter { return sim.Bucket(12, 12) }},
		{"2 a second", func() sim.Limiter { return sim.Bucket(2, 10) }},
		{"300 a minute", func() sim.Limiter { return sim.Window(300, 60) }},
	}
	for _, limit := range limits {
		for _, n := range []int{10, 75, 600} {
			for _, apart := range []time.Duration{15 * time.Minute, 3 * time.Hour, 25 * time.Hour} {
				if n == 600 && apart == 3*time.Hour {
					continue // as at 15 minutes and at 25 hours, and it is a third of what this test takes
				}
				t.Run(fmt.Sprintf("%s/%d requests every %v", limit.name, n, apart), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						p := sim.Plain(limit.make(), ordinary)
						c := sim.Owned(perSecond(200), sim.Workers)
						var state []byte
						var took []time.Duration
						for range 30 {
							begun := time.Now()
							took = append(took, sim.Job(p, c, n, time.Hour, &state))
							time.Sleep(time.Until(begun.Add(apart)))
						}
						most := min(took[0], took[1]) * 3 / 2
						for i, d := range took[2:] {
							if d > most {
								t.Errorf("run %d took %v, want at most %v; all: %v", i+3, d, most, took)
								break
							}
						}
						refused, requests := p.Refused()
						t.Logf("%v … %v … %v, %d refused of %d", took[:3], took[14], took[29], refused, requests)
					})
				})
			}
		}
	}
}

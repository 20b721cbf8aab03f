package sim_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/law"
	"collect/pacing/sim"
)

// TestWarmStart: what a run of 40 minutes has learned makes the next one, half
// an hour later, quick and quiet from its first minute.
func TestWarmStart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	var refused, reached, shares []float64
	for _, f := range sim.Families() {
		switch f.Name {
		case "window", "window-after", "bucket", "bucket-after", "several", "concurrency", "overload", "queue", "tarpit":
		default:
			continue
		}
		if !chosen(*families, f.Name) {
			continue
		}
		for seed := range uint64(max(2, *seeds)) {
			synctest.Test(t, func(t *testing.T) {
				p := f.New(*first + seed)
				var state []byte
				sim.Play(p, sim.Governed(law.Plateau), 40*time.Minute, &state)
				time.Sleep(30 * time.Minute)
				from := 70 * time.Minute
				sim.Play(p, sim.Governed(law.Plateau), 5*time.Minute, &state)
				got := p.Score(from, from+5*time.Minute)
				t.Logf("%s, seed %d: %d refused in 5 min, 90 %% after %.0f s, %.0f %% of the work", f.Name, p.Seed, got.Refusals, got.Reached, 100*got.Share)
				refused, reached = append(refused, float64(got.Refusals)), append(reached, got.Reached)
				shares = append(shares, 100*got.Share)
			})
		}
	}
	slices.Sort(refused)
	slices.Sort(reached)
	ninth := len(refused) * 9 / 10
	pass(t, []gate{
		{what: "warm: refusals in 5 minutes, of nine instances in ten", want: 2, got: refused[ninth], slack: 10},
		{what: "warm: 90 % of the limit, of nine instances in ten", want: 30, got: reached[ninth], unit: " s", slack: 90},
		{what: "warm: refusals in 5 minutes, worst", want: 2, now: 7, got: refused[len(refused)-1], slack: 22},
		{what: "warm: work in 5 minutes, worst instance", want: 75, got: slices.Min(shares), unit: " %", from: true, slack: 25},
	})
}

package sim_test

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/law"
	"collect/pacing/sim"
)

// Families that the short form plays: one for each thing that is counted.
var fleetShort = []string{"window-after", "bucket-after", "sliding", "concurrency"}

// TestFleet: eight processes that share a pace do as well as one, are refused
// as rarely, and each gets an eighth.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	var alone, together []float64
	var refusals, requests int
	fairness := 1.0
	for _, f := range sim.Families() {
		if !f.Learnable || *gateRows == "" && !slices.Contains(fleetShort, f.Name) {
			continue
		}
		for i := range (*seeds + 1) / 2 {
			seed := *first + uint64(i)
			one := hour(t, f, seed, sim.Governed(law.Plateau))
			answered := make([]atomic.Int64, 8)
			all := hour(t, f, seed, sim.Fleet(law.Plateau, answered))
			even := jain(answered)
			t.Logf("%s, seed %d: one process %.1f %%, eight %.1f %%, %d of %d refused, Jain %.4f",
				f.Name, seed, 100*one.Share, 100*all.Share, all.Refusals, all.Requests, even)
			alone, together = append(alone, 100*one.Share), append(together, 100*all.Share)
			refusals, requests = refusals+all.Refusals, requests+all.Requests
			fairness = min(fairness, even)
			if all.Early > 0 {
				t.Errorf("%s, seed %d: eight processes sent %d requests inside a Retry-After", f.Name, seed, all.Early)
			}
		}
	}
	pass(t, []gate{
		{what: "eight processes of one account: work, points less than of one", want: 1, got: mean(alone) - mean(together), slack: 3},
		{what: "eight processes: refused of 1000, of all their requests", want: 1.5, got: 1000 * float64(refusals) / float64(requests), slack: 1},
		{what: "eight processes: fairness (Jain), worst", want: 0.98, got: fairness, from: true},
	})
}

// hour returns what c makes of an hour at an instance of f.
func hour(t *testing.T, f sim.Family, seed uint64, c sim.Client) (s sim.Score) {
	synctest.Test(t, func(*testing.T) {
		p := f.New(seed)
		var state []byte
		sim.Play(p, c, time.Hour, &state)
		s = p.Score(0, time.Hour)
	})
	return s
}

// jain returns Jain's index of fairness, (Σx)²/(n·Σx²): 1 if all are equal, and
// 1/n if one has everything (R. Jain, D.-M. Chiu, W. Hawe: DEC-TR-301, 1984).
func jain(counts []atomic.Int64) float64 {
	var sum, squares float64
	for i := range counts {
		x := float64(counts[i].Load())
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(counts)) * squares)
}

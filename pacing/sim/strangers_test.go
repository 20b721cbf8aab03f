package sim_test

import (
	"slices"
	"testing"
	"time"

	"collect/pacing/law"
	"collect/pacing/sim"
)

// TestStrangers: at providers that the law was not made for, nobody is banned
// and silence is kept. How much of the work is done there is in the table that
// scripts/score writes, and is no gate.
func TestStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	long, instances := 15*time.Minute, 1
	if *rows != "" {
		long, instances = time.Hour, *seeds
	}
	bans, early, refusals := 0, 0, 0
	for _, f := range sim.Strangers() {
		if !chosen(*families, f.Name) {
			continue
		}
		got := play(t, f, sim.Governed(law.Plateau), long, instances)
		record(t, law.Plateau, got)
		bans, early, refusals = bans+got.bans, early+got.early, refusals+got.refusals
	}
	if refusals == 0 {
		t.Error("nothing was refused, so there was nothing to ask for silence")
	}
	pass(t, []gate{
		{what: "families written after the law: accounts banned", want: 0, got: float64(bans)},
		{what: "families written after the law: requests inside a Retry-After", want: 0, got: float64(early)},
	})
}

// No client gets more than what a family says is the best, and some client
// gets nearly that: one that keeps just below it, or one that never listens.
func TestBestOfStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, f := range sim.Strangers() {
		for seed := range uint64(2) {
			most := 0.0
			for _, pace := range []float64{0.98, 1.05, 100} {
				most = max(most, share(f.New(*first+seed), pace))
			}
			if most < 0.93 || most > 1.01 {
				t.Errorf("%s, seed %d: some client gets %.3f of the best, want 0.93 to 1.01", f.Name, *first+seed, most)
			}
		}
	}
}

// share returns the work that is done, of the best, by who asks for each path
// at a multiple of the best pace, up to the owner's ceiling and with no more in
// flight than there are workers. The first five minutes do not count, because
// a bucket may be full then.
func share(p *sim.Provider, pace float64) float64 {
	const begin, end, patience = 300, 3900, 30
	var work, best float64
	for _, path := range p.Paths() {
		for t := begin; t < end; t++ {
			best += p.Capacity(path, float64(t))
		}
		var flying []float64 // until then
		for t := 0.0; t < end; {
			flying = slices.DeleteFunc(flying, func(until float64) bool { return until <= t })
			if len(flying) == sim.Workers {
				t = slices.Min(flying)
				continue
			}
			a := p.Ask(path, t, len(flying)+1)
			switch {
			case a.Status == 0:
				a.Latency = patience
			case a.Status == 200 && t >= begin:
				work += a.Cost
			}
			flying = append(flying, t+a.Latency)
			wait := 1.0 // while there is nothing to be had
			if best := p.Capacity(path, t); best > 0 {
				wait = 1 / (pace * best)
			}
			t += max(1.0/sim.Ceiling, wait)
		}
	}
	return work / best
}

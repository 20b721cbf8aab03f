package sim_test

import (
	"slices"
	"testing"
	"time"

	"collect/pacing/law"
	"collect/pacing/sim"
)

// TestStrangers: at providers that the law was not made for, nobody is banned,
// silence is kept, and no error makes the pace higher. How much of the work is
// done there is in the table that scripts/score writes.
func TestStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	var all []*tally
	refusals := 0
	for _, f := range slices.Concat(sim.Strangers(), sim.Untuned()) {
		got := play(t, f, sim.Governed(law.Plateau), 15*time.Minute, 1)
		all = append(all, got)
		refusals += got.refusals()
	}
	if refusals == 0 {
		t.Error("nothing was refused, so there was nothing to ask for silence")
	}
	pass(t, neverGates(all))
}

// No client gets more than what a family says is the best, and some client
// gets nearly that: one that keeps just below it, or one that never listens.
func TestBestOfStrangers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	for _, f := range slices.Concat(sim.Strangers(), sim.Untuned()) {
		most := 0.0
		for _, pace := range []float64{0.98, 1.05, 100} {
			if most >= 0.93 && f.New(*first).Long > time.Hour {
				break // so long a time takes long, too
			}
			most = max(most, share(f.New(*first), pace, sim.Workers))
		}
		for flying := 2; most < 0.93 && flying <= 10; flying++ { // where these are counted
			most = max(most, share(f.New(*first), 100, flying))
		}
		if most < 0.93 || most > 1.01 {
			t.Errorf("%s, seed %d: some client gets %.3f of the best, want 0.93 to 1.01", f.Name, *first, most)
		}
	}
}

// share returns the work that is done, of the best, by who asks for each path
// at a multiple of the best pace, up to the owner's ceiling and with so many in
// flight at most. Of an hour, the five minutes before it do not
// count, because a bucket may be full then; of more, that is little.
func share(p *sim.Provider, pace float64, flying int) float64 {
	const patience = 30
	begin, end := 0.0, p.Long.Seconds()
	if end == 3600 {
		begin, end = 300, 3900
	}
	var work, best float64
	for _, path := range p.Paths() {
		for t := begin; t < end; t++ {
			best += p.Capacity(path, t)
		}
		var until []float64 // when those in flight are answered
		for t := 0.0; t < end; {
			until = slices.DeleteFunc(until, func(at float64) bool { return at <= t })
			if len(until) == flying {
				t = slices.Min(until)
				continue
			}
			a := p.Ask(path, t, len(until)+1)
			switch {
			case a.Status == 0:
				a.Latency = patience
			case a.Status == 200 && !a.Refused && t >= begin:
				work += a.Cost
			}
			until = append(until, t+a.Latency)
			wait := 1.0 // while there is nothing to be had
			if best := p.Capacity(path, t); best > 0 {
				wait = 1 / (pace * best)
			}
			t += max(1.0/sim.Ceiling, wait)
		}
	}
	return work / best
}

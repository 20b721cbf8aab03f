package sim_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// A limit moves when, and by how much, its family says.
func TestMovingLimits(t *testing.T) {
	for _, tc := range []struct {
		family      string
		least, most float64 // the lowest of an hour, in parts of the highest
		low         int     // seconds below the highest, at least
		atMost      int
	}{
		{"night", 0.2, 0.5, 1200, 2400},
		{"raised", 0.25, 0.25, 600, 1801},
		{"dip", 1.0 / 3, 1.0 / 3, 600, 600},
		{"outage", 0, 0, 180, 180},
	} {
		for seed := range uint64(5) {
			p := family(t, tc.family).New(seed)
			var all []float64
			for at := range 3600 {
				all = append(all, p.Capacity("/records", float64(at)))
			}
			highest, low := slices.Max(all), 0
			for _, c := range all {
				if c < highest {
					low++
				}
			}
			if part := slices.Min(all) / highest; part < tc.least-1e-9 || part > tc.most+1e-9 || low < tc.low || low > tc.atMost {
				t.Errorf("%s, seed %d: %.3f of the highest for %d s, want %.3f to %.3f for %d to %d s",
					tc.family, seed, part, low, tc.least, tc.most, tc.low, tc.atMost)
			}
			if first, last := all[0], all[3599]; tc.family != "night" && (tc.family == "raised") != (first < last) {
				t.Errorf("%s, seed %d: %.3f/s at first and %.3f/s in the end", tc.family, seed, first, last)
			}
		}
	}
}

// Away, a provider answers everything with 503.
func TestOutage(t *testing.T) {
	p := family(t, "outage").New(1000)
	for at := 0.0; at < 3600; at += 10 {
		want := 200
		if p.Capacity("/records", at) == 0 {
			want = 503
		}
		if got := p.Ask("/records", at, 1).Status; got != want {
			t.Errorf("after %v s: %d, want %d", at, got, want)
		}
	}
}

// What is too fast waits for its turn, and is refused when the wait is too
// long; a refusal costs nothing.
func TestDelaying(t *testing.T) {
	for seed := range uint64(5) {
		p := family(t, "delaying").New(seed)
		turn := 1 / p.Capacity("/records", 0)
		idle := p.Ask("/records", 0, 1).Latency
		longest, at := 0.0, turn
		var a sim.Answer
		for a = p.Ask("/records", at, 1); a.Status == 200; a = p.Ask("/records", at, 1) {
			longest = max(longest, a.Latency)
		}
		if a.Status != 503 || longest < turn+idle/4 || longest > max(turn, 5)+turn+5*idle {
			t.Errorf("seed %d: %d after a wait of %.1f s, one turn being %.1f s", seed, a.Status, longest, turn)
		}
		for range 50 {
			p.Ask("/records", at, 1)
		}
		if got := p.Ask("/records", at+1.01*turn, 1); got.Status != 200 {
			t.Errorf("seed %d: a turn after the refusals, %d", seed, got.Status)
		}
	}
}

// Latencies scatter, or are long, and say nothing of the pace.
func TestLatencies(t *testing.T) {
	for _, tc := range []struct {
		family       string
		least, most  float64 // seconds in the mean
		tail, toTail float64 // one in a hundred, in parts of the median
	}{
		{"noisy", 0.15, 1.4, 2.8, 14},
		{"slow", 1.9, 8.4, 1.7, 2.5},
	} {
		for seed := range uint64(5) {
			p := family(t, tc.family).New(seed)
			limit := p.Capacity("/records", 0)
			var all []float64
			for i := range 4000 {
				all = append(all, p.Ask("/records", float64(i)/limit*1.02, 1).Latency)
			}
			slices.Sort(all)
			if got, tail := mean(all), all[3960]/all[2000]; got < tc.least || got > tc.most || tail < tc.tail || tail > tc.toTail {
				t.Errorf("%s, seed %d: %.2f s in the mean and one in a hundred takes %.1f times the median", tc.family, seed, got, tail)
			}
			if flying := limit * mean(all); flying > 0.8*sim.Workers {
				t.Errorf("%s, seed %d: the limit needs %.0f in flight, of %d", tc.family, seed, flying, sim.Workers)
			}
		}
	}
}

// What a firewall drops is never answered, and counts as refused.
func TestDropping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := family(t, "dropping").New(1000)
		var err error
		asked := 0
		for ; err == nil && asked < 1000; asked++ {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			req, bad := http.NewRequestWithContext(ctx, http.MethodGet, sim.Origin+"/records", nil)
			if bad != nil {
				t.Fatal(bad)
			}
			_, err = p.RoundTrip(req)
			cancel()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after %d requests one after the other: %v", asked, err)
		}
		if got := p.Score(0, time.Hour); got.Refusals != 1 {
			t.Errorf("%d refusals of %d requests, want one", got.Refusals, got.Requests)
		}
	})
}

// TestLimitThatIsRaisedFar: a limit that was tight for half a minute is used in full four minutes later.
func TestLimitThatIsRaisedFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sim.Plain(sim.Moving(func(at float64) float64 {
			if at >= 60 && at < 93 {
				return 3
			}
			return 30
		}, 10), ordinary)
		var state []byte
		sim.Play(p, sim.Owned(perSecond(sim.Ceiling), 0), 6*time.Minute, &state)
		if s := p.Score(5*time.Minute, 6*time.Minute); s.Requests < 16*60 {
			t.Errorf("%d requests in the sixth minute, want %d", s.Requests, 16*60)
		}
	})
}

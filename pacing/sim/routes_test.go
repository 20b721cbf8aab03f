package sim_test

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"collect/pacing/sim"
)

// apart reports whether state has a route that is kept and that nobody declared.
func apart(state []byte) bool {
	return bytes.Contains(state, []byte(`"stream":`)) && !bytes.Contains(state, []byte(`"tried_per_second":`))
}

// TestUndeclaredRoutes: two streams that the provider counts apart, 10 and 1 a
// second, which nobody declared. Both become as fast as they may be, and are so
// from the beginning in the next run.
func TestUndeclaredRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sim.Routes(10, 1)
		var state []byte
		cold := sim.JobOf(p, sim.Owned(perSecond(20), sim.Workers), 3*time.Hour, &state, 6000, 600)
		kept := apart(state)
		refused, requests := p.Refused()
		warm := sim.JobOf(p, sim.Owned(perSecond(20), sim.Workers), 3*time.Hour, &state, 6000, 600)
		t.Logf("%v, and then %v, of 600 s that it takes; %d of %d refused at first", cold, warm, refused, requests)
		if cold > 1150*time.Second || warm > 690*time.Second || !kept {
			t.Errorf("%v, and then %v; the route is kept: %t; want 1150 s, 690 s and a route", cold, warm, kept)
		}
	})
}

// TestRoutesThatSaveUp: a provider allows 20 requests a minute of one method and 50 of
// another, and lets a client use later what it did not use at once. So it refuses a
// stream at paces far above its limit, and a trial that had to beat these was given up.
func TestRoutesThatSaveUp(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{4105, 4111, 4113} {
		synctest.Test(t, func(t *testing.T) {
			p := family(t, "slack").New(seed)
			var state []byte
			sim.Play(p, sim.Owned(perSecond(20), sim.Workers), 2*time.Hour, &state)
			s := p.Score(0, 2*time.Hour)
			t.Logf("seed %d: %.0f %% of the work", seed, 100*s.Share)
			if s.Share < 0.8 || !apart(state) {
				t.Errorf("seed %d: %.0f %% of the work, apart: %t; want 80 %%, and two routes", seed, 100*s.Share, apart(state))
			}
		})
	}
}

// TestOneLimitOfSeveralStreams: streams that share a limit, one of which asks for
// more than the others, are not taken apart, and do not pay for it that this is
// tried now and then.
func TestOneLimitOfSeveralStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	var one, several []float64
	var refused, requests [2]int
	for _, f := range sim.Families() {
		if !slices.Contains([]string{"window", "window-after", "bucket", "sliding", "concurrency"}, f.Name) {
			continue
		}
		for seed := range uint64(*seeds+1) / 2 {
			for i, streams := range []int{1, 3} {
				synctest.Test(t, func(t *testing.T) {
					p := f.New(*first + seed)
					p.Streams(streams)
					var state []byte
					sim.Play(p, sim.Owned(perSecond(20), sim.Workers), time.Hour, &state)
					s := p.Score(0, time.Hour)
					if i == 0 {
						one = append(one, 100*s.Share)
					} else {
						several = append(several, 100*s.Share)
					}
					refused[i], requests[i] = refused[i]+s.Refusals, requests[i]+s.Requests
					if apart(state) {
						t.Errorf("%s, seed %d: %d streams of one limit are taken apart: %s", f.Name, *first+seed, streams, state)
					}
				})
			}
		}
	}
	of := func(i int) float64 { return 1000 * float64(refused[i]) / float64(requests[i]) }
	t.Logf("one stream %.1f %% and %.2f of 1000 refused, three %.1f %% and %.2f", mean(one), of(0), mean(several), of(1))
	if mean(several) < mean(one)-2 || of(1) > of(0)+1 {
		t.Errorf("three streams do %.1f %% of the work with %.2f of 1000 refused, and one %.1f %% with %.2f", mean(several), of(1), mean(one), of(0))
	}
}

// TestRoutesThatBecomeOne are joined, because what one of them uses up is refused
// to the other.
func TestRoutesThatBecomeOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := sim.Routes(10, 1)
		var state []byte
		sim.Play(p, sim.Owned(perSecond(20), sim.Workers), 40*time.Minute, &state)
		if !apart(state) {
			t.Fatalf("there is no route: %s", state)
		}
		p.OneWindow(300, 60)
		sim.Play(p, sim.Owned(perSecond(20), sim.Workers), 2*time.Hour, &state)
		last := p.Score(100*time.Minute, 160*time.Minute)
		t.Logf("in the last hour %d of %d refused, %d answered of %d", last.Refusals, last.Requests, last.Requests-last.Refusals, 300*60)
		if apart(state) || last.Refused > 10 {
			t.Errorf("apart: %t, and %.1f of 1000 are refused", apart(state), last.Refused)
		}
	})
}

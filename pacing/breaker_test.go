package pacing_test

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

// TestOneProbeInFlight: with many requests waiting for an open breaker, one
// goes out, and the others wait for what becomes of it.
func TestOneProbeInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Second)
			if down.Load() {
				w.WriteHeader(500)
			}
		})
		var j journal
		var d disk
		b := pacing.NewBudget(pacing.BudgetLimits{})
		g := govern(t, pacing.Config{Base: m, Budget: b, Concurrency: 8, Observe: j.observe, Save: d.save, Provider: collection.Provider{Unpaced: true}})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { fetch(t, g) })
		}
		time.Sleep(15 * time.Second) // eight failures at 10 s: open until 70 s
		down.Store(false)
		sent := m.count()
		wg.Wait()
		m.mu.Lock()
		after := m.arrivals[sent:]
		m.mu.Unlock()
		if gap := after[1].Sub(after[0]); gap != 10*time.Second {
			t.Errorf("the second request left %v after the probe, want after its 10s", gap)
		}
		if got := b.Tally(); got.Requests != 16 || got.Retries != 7 {
			t.Errorf("tally %+v, want 8 requests, a probe and 7 retries", got)
		}
		var states []string
		for _, e := range j.of(collection.BreakerChanged) {
			states = append(states, e.Breaker.State)
			if e.Breaker.Requests == 0 || e.Breaker.ElapsedSeconds == 0 || e.Breaker.RetryTokensLeft == 0 {
				t.Errorf("transition without evidence: %+v", e.Breaker)
			}
		}
		if want := []string{gate.Open, gate.HalfOpen, gate.Closed}; !slices.Equal(states, want) {
			t.Errorf("the breaker went through %v, want %v", states, want)
		}
		if got := len(d.events); got != 3 {
			t.Errorf("%d transitions were saved, want 3", got)
		}
	})
}

// TestProbeIsNoRetry: the bucket has just enough for the retries before the
// breaker opened, and the probe goes out all the same.
func TestProbeIsNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(statuses(500, 500, 500, 500, 500, 500, 500, 500, 500, 200))
		b := pacing.NewBudget(pacing.BudgetLimits{RetryTokens: 4})
		g := govern(t, pacing.Config{Base: m, Budget: b, Provider: collection.Provider{Limits: collection.Limits{Attempts: 2}}})
		start := time.Now()
		for range 4 {
			stopOf(t, g)
		}
		mustFetch(t, g)
		if got := m.gaps(start)[9]; got != 10*time.Second {
			t.Errorf("the probe left %v after the breaker opened, want 10s", got)
		}
		if b.TakeToken() {
			t.Error("a token is left: the retries did not take theirs")
		}
	})
}

// TestOpenBreaker: attempts that are used up while it is open say so, and it
// is waited out if the run allows it, also after a restart.
func TestOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		once := collection.Provider{Limits: collection.Limits{Attempts: 1}}
		g := govern(t, pacing.Config{Base: serve(statuses(503)), Save: d.save, Provider: once})
		for range 4 {
			if stop := stopOf(t, g); stop.Reason != collection.UpstreamPressure {
				t.Errorf("%+v, want upstream_pressure while it is closed", stop)
			}
		}
		stop := stopOf(t, g)
		if stop.Reason != collection.CircuitOpen || stop.Status != 503 || time.Until(stop.NotBefore) != 10*time.Second {
			t.Errorf("%+v, want circuit_open for 10 s", stop)
		}
		if got := g.Status(); got.Breaker != gate.Open || !got.OpenUntil.Equal(stop.NotBefore) {
			t.Errorf("status %+v, want open", got)
		}

		m := serve(ok)
		short := govern(t, pacing.Config{Base: m, Restore: d.state, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: 5 * time.Second})})
		got := stopOf(t, short)
		if got.Reason != collection.CircuitOpen || !got.NotBefore.Equal(stop.NotBefore) || m.count() != 0 {
			t.Errorf("a run of 5 s: %+v after %d requests, want circuit_open and none", got, m.count())
		}
		if want := "5 of the last 5 requests failed; the latest at 2000-01-01 00:00 UTC: answered 503"; got.Detail != want {
			t.Errorf("a later run is told %q, want %q", got.Detail, want)
		}
		start := time.Now()
		mustFetch(t, govern(t, pacing.Config{Base: m, Restore: d.state}))
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("the breaker was waited out for %v, want 10s", got)
		}
	})
}

// TestOneBrokenPageDoesNotOpenTheBreaker: a request that fails with all its
// retries may be broken on its own, and the others go on.
func TestOneBrokenPageDoesNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(statuses(502, 502, 502, 502, 502, 200))
		g := govern(t, pacing.Config{Base: m})
		if stop := stopOf(t, g); stop.Reason != collection.UpstreamPressure || m.count() != 5 {
			t.Errorf("%+v after %d attempts, want upstream_pressure after 5", stop, m.count())
		}
		start := time.Now()
		mustFetch(t, g)
		if got := time.Since(start); got >= time.Minute {
			t.Errorf("the next request waited %v: the breaker opened", got)
		}
	})
}

// TestTheEndOfARunIsNoOutage: one server of eight hangs, and when the time of the run is up, its requests are
// all that is left. A provider that hangs as a whole is noticed all the same.
func TestTheEndOfARunIsNoOutage(t *testing.T) {
	for _, tc := range []struct {
		hangs func(asked int64) bool
		want  string
	}{
		{func(asked int64) bool { return asked%8 == 0 }, gate.Closed},
		{func(asked int64) bool { return true }, gate.Open},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				if !tc.hangs(asked.Add(1)) {
					time.Sleep(50 * ms)
					return
				}
				select {
				case <-time.After(30 * time.Second):
				case <-r.Context().Done():
				}
				w.WriteHeader(http.StatusGatewayTimeout)
			})
			g := govern(t, pacing.Config{Base: m, Concurrency: 8, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: 25 * time.Second}),
				Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 10, Per: time.Second}}, StartPerSecond: 10}})
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 1000 {
						fetch(t, g)
					}
				})
			}
			time.Sleep(24 * time.Second)
			was := g.Status().PerSecond
			wg.Wait()
			if got := g.Status(); got.Breaker != tc.want || got.PerSecond < was {
				t.Errorf("the run ended with %.1f/s and the breaker %s, want %.1f/s and %s", got.PerSecond, got.Breaker, was, tc.want)
			}
		})
	}
}

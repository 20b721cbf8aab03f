package pacing_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
)

// TestMetrics sends a request that is throttled once, one that is refused, and
// then looks while one is on its way and another waits for it.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := statuses(429, 200, 404, 200)
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(2 * time.Second)
			answers(w, r)
		})
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Unpaced: true}})
		mustFetch(t, g)
		stopOf(t, g)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { mustFetch(t, g) })
		}
		synctest.Wait()
		want := collection.Metrics{
			TotalRequests: 4, CompletedRequests: 1, FailedRequests: 1, RateLimitHits: 1, RetriedRequests: 1,
			ActiveRequests: 1, MaxConcurrency: 1, QueueDepth: 1, AvgLatency: 2, P50Latency: 2, P99Latency: 2,
		}
		if got := g.Metrics(); got != want {
			t.Errorf("Metrics() = %+v, want %+v", got, want)
		}
		wg.Wait()
		if got := g.Metrics(); got.CompletedRequests != 3 || got.ActiveRequests != 0 || got.QueueDepth != 0 {
			t.Errorf("Metrics() at the end = %+v", got)
		}
	})
}

// TestTrace: who asks for it sees every step of every request, in order.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		m := serve(statuses(429, 200, 404))
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Unpaced: true}, Observe: j.observe, Trace: true})
		mustFetch(t, g)
		stopOf(t, g)
		g.Close()
		type step struct {
			kind        collection.EventKind
			id, attempt int
			reason      string
		}
		var got []step
		for _, e := range j.events {
			if r := e.Request; r != nil {
				got = append(got, step{e.Kind, int(r.ID), r.Attempt, r.Reason})
			}
		}
		want := []step{
			{collection.RequestStarted, 1, 1, ""},
			{collection.SlotAcquired, 1, 1, ""},
			{collection.SlotReleased, 1, 1, ""},
			{collection.RequestRetrying, 1, 2, "ratelimit"},
			{collection.SlotAcquired, 1, 2, ""},
			{collection.SlotReleased, 1, 2, ""},
			{collection.RequestCompleted, 1, 2, ""},
			{collection.RequestStarted, 2, 1, ""},
			{collection.SlotAcquired, 2, 1, ""},
			{collection.SlotReleased, 2, 1, ""},
			{collection.RequestFailed, 2, 1, "not_found"},
		}
		if !slices.Equal(got, want) {
			t.Errorf("traced\n%v, want\n%v", got, want)
		}
	})
}

// TestNoTrace: nobody else is told of single requests.
func TestNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := govern(t, pacing.Config{Base: serve(statuses(429, 200)), Observe: j.observe})
		mustFetch(t, g)
		g.Close()
		if len(j.events) == 0 {
			t.Error("the throttle was not told")
		}
		for _, e := range j.events {
			if e.Request != nil {
				t.Errorf("told without being asked: %v", e.Kind)
			}
		}
	})
}

// TestLimitsAreTold: what a provider announces is told once, and when little
// is left of it.
func TestLimitsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		left := []string{"60", "59", "3", "2"}
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Limit", "60")
			w.Header().Set("X-RateLimit-Remaining", left[0])
			left = left[1:]
		})
		g := govern(t, pacing.Config{Base: m, Observe: j.observe})
		for range 4 {
			mustFetch(t, g)
		}
		learned, low := j.of(collection.LimitLearned), j.of(collection.LimitLow)
		if len(learned) != 1 || learned[0].Limit.Limit != 60 || learned[0].Provider != "acme" {
			t.Errorf("learned: %+v, want 60 once", learned)
		}
		if len(low) != 1 || low[0].Limit.Remaining != 3 {
			t.Errorf("low: %+v, want once, with 3 left", low)
		}
	})
}

// TestWithdrawnIsNotFailed: what was asked ahead, and is not needed any more
// before it left, is no request at all.
func TestWithdrawnIsNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, r *http.Request) { time.Sleep(2 * time.Second) })
		g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Unpaced: true}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { mustFetch(t, g) })
		synctest.Wait()
		for range 7 {
			wg.Go(func() {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://provider.test/ahead", nil)
				if resp, err := g.Client().Do(req); err == nil {
					t.Errorf("answered %d, want nothing sent", resp.StatusCode)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if got := g.Metrics(); got.TotalRequests != 1 || got.CompletedRequests != 1 || got.FailedRequests != 0 {
			t.Errorf("Metrics() = %+v, want one request, completed", got)
		}
	})
}

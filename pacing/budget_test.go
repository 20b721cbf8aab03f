package pacing_test

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/law"
)

func TestUnboundedWhenNothingConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(ok)
		b := pacing.NewBudget(pacing.BudgetLimits{})
		g := govern(t, pacing.Config{Base: m, Budget: b})
		for range 5000 {
			mustFetch(t, g)
		}
		if got, want := b.Tally(), (collection.Tally{Requests: 5000}); got != want {
			t.Errorf("tally %+v, want %+v", got, want)
		}
	})
}

// TestRequestCapIsExactUnderConcurrency asks for more than the cap from many
// goroutines and two providers at once, with failures in between.
func TestRequestCapIsExactUnderConcurrency(t *testing.T) {
	for _, most := range []int64{1, 7, 50} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(rand.N(300 * ms))
				if rand.N(4) == 0 {
					w.WriteHeader(500)
				}
			})
			b := pacing.NewBudget(pacing.BudgetLimits{MaxRequests: most, RetryTokens: 1000})
			var j journal
			c := pacing.Config{Base: m, Budget: b, Concurrency: 16, Observe: j.observe, Provider: collection.Provider{Unpaced: true}}
			governors := []*pacing.Governor{govern(t, c), govern(t, c)}
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() {
					for range 10 {
						fetch(t, governors[i%2])
					}
				})
			}
			wg.Wait()
			if got := int64(m.count()); got != most || b.Tally().Requests != most {
				t.Errorf("cap %d: %d requests were sent and %d counted", most, got, b.Tally().Requests)
			}
			if got, want := stopOf(t, governors[0]).Reason, collection.RequestCap; got != want {
				t.Errorf("after the cap of %d: %s, want %s", most, got, want)
			}
			if got := j.of(collection.BudgetExhausted); len(got) != 1 || got[0].Budget.Axis != collection.RequestCap || got[0].Budget.Limit != float64(most) {
				t.Errorf("cap %d was told as %+v, want once", most, got)
			}
		})
	}
}

// TestReservationIsExact: two providers may both see the last request free.
func TestReservationIsExact(t *testing.T) {
	b := pacing.NewBudget(pacing.BudgetLimits{MaxRequests: 1000})
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if b.Reserve() {
					granted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := granted.Load(); got != 1000 || b.Tally().Requests != 1000 {
		t.Errorf("%d of 1000 requests were granted and %d counted", got, b.Tally().Requests)
	}
}

// TestWallClockBetweenAttempts: the request in flight when the time is up is
// finished if it ends soon, and the next one does not leave.
func TestWallClockBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(13 * time.Second)
			ok(w, r)
		})
		g := govern(t, pacing.Config{Base: m, Budget: pacing.NewBudget(pacing.BudgetLimits{MaxTime: 10 * time.Second})})
		time.Sleep(time.Hour) // setting up is not charged
		start := time.Now()
		mustFetch(t, g)
		if got, want := time.Since(start), 13*time.Second; got != want {
			t.Errorf("the request in flight ended after %v, want %v", got, want)
		}
		if got, want := stopOf(t, g).Reason, collection.WallClock; got != want {
			t.Errorf("after the time was up: %s, want %s", got, want)
		}
		if got := m.count(); got != 1 {
			t.Errorf("%d requests were sent, want 1", got)
		}
	})
}

// TestWaitBeyondTheWallClock: nobody sleeps until a time that is too late.
func TestWaitBeyondTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := govern(t, pacing.Config{
			Base:     serve(ok),
			Budget:   pacing.NewBudget(pacing.BudgetLimits{MaxTime: 30 * time.Second}),
			Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 1, Per: time.Minute}}},
		})
		mustFetch(t, g)
		start := time.Now()
		if got, want := stopOf(t, g).Reason, collection.WallClock; got != want {
			t.Errorf("stopped for %s, want %s", got, want)
		}
		if slept := time.Since(start); slept != 0 {
			t.Errorf("slept %v before the stop", slept)
		}
	})
}

func TestInterruptEndsWaitsAndFinishesWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Second)
			ok(w, r)
		})
		b := pacing.NewBudget(pacing.BudgetLimits{})
		g := govern(t, pacing.Config{Base: m, Budget: b, Concurrency: 2,
			Provider: collection.Provider{StartPerSecond: 1, Ceilings: []collection.Ceiling{{Count: 1, Per: time.Minute}}}})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			mustFetch(t, g)
			if got, want := time.Since(start), 5*time.Second; got != want {
				t.Errorf("the request in flight ended after %v, want %v", got, want)
			}
		})
		time.Sleep(2 * time.Second)
		wg.Go(func() {
			if got, want := stopOf(t, g).Reason, collection.Interrupted; got != want {
				t.Errorf("the wait ended with %s, want %s", got, want)
			}
			if got, want := time.Since(start), 3*time.Second; got != want {
				t.Errorf("the wait ended after %v, want %v", got, want)
			}
		})
		time.Sleep(time.Second)
		b.Interrupt()
		wg.Wait()
		b.Interrupt() // again is harmless
	})
}

// TestRetryBucket plays the bucket alone. S is a success, R asks for a token.
func TestRetryBucket(t *testing.T) {
	for _, tc := range []struct {
		tokens        int64
		history, want string
	}{
		{2, "RRR", "ttf"},
		{2, "RRRSSRSSSR", "ttfft"}, // 0.4, then 1.0
		{1, "SSSSSSSSSSRR", "tf"},  // never above the capacity
		{1, "RSSSSRSR", "tft"},     // 0.8, then 1.0
	} {
		b := pacing.NewBudget(pacing.BudgetLimits{RetryTokens: tc.tokens})
		var got strings.Builder
		for _, c := range tc.history {
			if c == 'S' {
				b.Record(law.Succeeded)
				continue
			}
			if b.TakeToken() {
				got.WriteString("t")
			} else {
				got.WriteString("f")
			}
		}
		if got.String() != tc.want {
			t.Errorf("%d tokens, %s: %s, want %s", tc.tokens, tc.history, got.String(), tc.want)
		}
	}
}

func TestRetryCapacity(t *testing.T) {
	for _, tc := range []struct{ requests, want int64 }{{1, 1}, {3, 1}, {5, 1}, {6, 2}, {50, 10}, {100, 20}, {0, 50}} {
		if got := pacing.NewBudget(pacing.BudgetLimits{MaxRequests: tc.requests}).Capacity(); got != tc.want {
			t.Errorf("a cap of %d requests grants %d retries, want %d", tc.requests, got, tc.want)
		}
	}
}

// TestRetryBudgetEmptyDefersWithoutSleeping: the attempts are not used up, but
// the retries are.
func TestRetryBudgetEmptyDefersWithoutSleeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(statuses(500))
		b := pacing.NewBudget(pacing.BudgetLimits{RetryTokens: 2})
		g := govern(t, pacing.Config{Base: m, Budget: b})
		stop := stopOf(t, g)
		if stop.Reason != collection.RetryBudget || stop.Status != 500 {
			t.Errorf("stopped for %v, want retry_budget (500)", stop)
		}
		last := m.arrivals[len(m.arrivals)-1]
		if got := time.Since(last); got != 0 {
			t.Errorf("slept %v after the last attempt", got)
		}
		if got, want := b.Tally(), (collection.Tally{Requests: 3, Retries: 2}); got != want {
			t.Errorf("tally %+v, want %+v", got, want)
		}
	})
}

// TestRetryBudgetEmptyWhereNothingIsReached: the stop says that no request got as far as an answer.
func TestRetryBudgetEmptyWhereNothingIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nobody := sends(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		})
		g := govern(t, pacing.Config{Base: nobody, Budget: pacing.NewBudget(pacing.BudgetLimits{RetryTokens: 2})})
		if stop := stopOf(t, g); stop.Reason != collection.RetryBudget || stop.Status != 0 || !errors.Is(stop, syscall.ECONNREFUSED) {
			t.Errorf("stopped for %v (%v), want retry_budget for a refused connection", stop, stop.Err)
		}
	})
}

// TestWaitedCountsEachMomentOnce: four requests wait at the same time.
func TestWaitedCountsEachMomentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pacing.NewBudget(pacing.BudgetLimits{})
		g := govern(t, pacing.Config{Base: serve(retryAfter("60")), Budget: b, Concurrency: 4})
		start := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { mustFetch(t, g) })
		}
		wg.Wait()
		var sum time.Duration
		for _, d := range b.Waited() {
			sum += d
		}
		if elapsed := time.Since(start); sum != elapsed {
			t.Errorf("waited %v, %v in all, want %v", b.Waited(), sum, elapsed)
		}
		if got := b.Waited()[collection.WaitRetryAfter]; got < 60*time.Second || got > 61*time.Second {
			t.Errorf("waited %v for Retry-After 60", got)
		}
		if got := b.Tally().Throttled; got != 1 {
			t.Errorf("%d throttle signals, want 1", got)
		}
	})
}

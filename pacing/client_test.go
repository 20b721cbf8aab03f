package pacing_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/law"
)

// TestSingleWait sets up several reasons to wait at once. The wait is the
// longest of them, and govern fails the test if an attempt waits twice.
func TestSingleWait(t *testing.T) {
	for _, tc := range []struct {
		name     string
		provider collection.Provider
		header   string // Retry-After of the first answer
		least    time.Duration
		most     time.Duration
		cause    collection.WaitCause
	}{
		{"pacing", collection.Provider{StartPerSecond: 0.1}, "1", 20 * time.Second, 20 * time.Second, collection.WaitPacing},
		{"Retry-After", collection.Provider{StartPerSecond: 0.1}, "45", 45*time.Second + 50*ms, 45*time.Second + 150*ms, collection.WaitRetryAfter},
		{"ceiling", collection.Provider{Unpaced: true, Ceilings: []collection.Ceiling{{Count: 1, Per: 50 * time.Second}}}, "45",
			50*time.Second + 50*ms, 50*time.Second + 50*ms, collection.WaitWindow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := serve(retryAfter(tc.header))
				b := pacing.NewBudget(pacing.BudgetLimits{})
				g, start := govern(t, pacing.Config{Base: m, Provider: tc.provider, Budget: b}), time.Now()
				mustFetch(t, g)
				if got := m.gaps(start)[1]; got < tc.least || got > tc.most {
					t.Errorf("the retry left after %v, want %v to %v", got, tc.least, tc.most)
				}
				if got := b.Waited()[tc.cause]; got < tc.least {
					t.Errorf("waited %v, want at least %v for %s", b.Waited(), tc.least, tc.cause)
				}
			})
		})
	}
}

func TestProvidersAreIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pacing.NewBudget(pacing.BudgetLimits{})
		slow := govern(t, pacing.Config{Base: serve(retryAfter("240")), Budget: b})
		m := serve(ok)
		quick := govern(t, pacing.Config{Base: m, Budget: b})
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { mustFetch(t, slow) })
		for range 100 {
			mustFetch(t, quick)
		}
		if got := time.Since(start); got > 60*time.Second {
			t.Errorf("100 requests took %v beside a provider that asked to wait", got)
		}
		if got := quick.Status(); got.PerSecond != 4 || !got.HoldUntil.IsZero() {
			t.Errorf("the other provider stands at %+v", got)
		}
		wg.Wait()
		if got := time.Since(start); got < 240*time.Second {
			t.Errorf("the slow one was asked again after %v, want 240s", got)
		}
	})
}

// TestRetryAfterIsAMinimumAcrossRestart kills the process inside a hold.
func TestRetryAfterIsAMinimumAcrossRestart(t *testing.T) {
	for _, elapsed := range []time.Duration{0, time.Second, 119 * time.Second, 121 * time.Second, -time.Hour} {
		t.Run(elapsed.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d disk
				m := serve(retryAfter("120"))
				ctx, kill := context.WithCancel(t.Context())
				first := govern(t, pacing.Config{Base: m, Save: d.save})
				go func() {
					req, _ := http.NewRequestWithContext(ctx, "GET", acme, nil)
					first.Client().Do(req)
				}()
				time.Sleep(2 * time.Second)
				kill()
				synctest.Wait()
				refused := m.arrivals[0]
				state := d.state
				if elapsed < 0 { // the clock is set back: as if the state came from the future
					state = []byte(shiftTimes(t, state, -elapsed))
				} else {
					time.Sleep(elapsed)
				}
				n := serve(ok)
				restarted := time.Now()
				mustFetch(t, govern(t, pacing.Config{Base: n, Restore: state}))
				got := n.arrivals[0].Sub(refused)
				if got < 120*time.Second {
					t.Errorf("asked again %v after Retry-After 120", got)
				}
				if wait := n.arrivals[0].Sub(restarted); wait > 121*time.Second {
					t.Errorf("waited %v after the restart, want at most what was asked", wait)
				}
			})
		})
	}
}

// TestRetryAfterIsSavedBeforeAnythingLeaves: while the hold is on its way to
// the disk, other requests wait, however short the hold is.
func TestRetryAfterIsSavedBeforeAnythingLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		m := serve(d.degrade(30*time.Second, nil, retryAfter("1")))
		g := govern(t, pacing.Config{Base: m, Save: d.save, Concurrency: 4})
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { mustFetch(t, g) })
		}
		wg.Wait()
		gaps := m.gaps(start)
		if gaps[1] < 30*time.Second {
			t.Errorf("requests left after %v, before the hold was saved", gaps)
		}
	})
}

func TestLongRetryAfterStopsAtOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		after  string
		budget pacing.BudgetLimits
		want   collection.Reason // of a stop; "": none
	}{
		{"granted", "300", pacing.BudgetLimits{}, ""},
		{"longer than the run grants", "301", pacing.BudgetLimits{}, collection.RetryAfter},
		{"longer than what is left of the run", "60", pacing.BudgetLimits{MaxTime: 50 * time.Second}, collection.WallClock},
		{"a date", "Mon, 01 Jan 2035 00:00:00 GMT", pacing.BudgetLimits{}, collection.RetryAfter},
		{"overflow", "99999999999999999999", pacing.BudgetLimits{}, collection.RetryAfter},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d disk
				m := serve(retryAfter(tc.after))
				g := govern(t, pacing.Config{Base: m, Save: d.save, Budget: pacing.NewBudget(tc.budget)})
				if tc.want == "" {
					mustFetch(t, g)
					return
				}
				stop := stopOf(t, g)
				if stop.Reason != tc.want || stop.Status != 429 || !stop.NotBefore.After(time.Now()) {
					t.Errorf("Retry-After %s: %+v, want %s with a time", tc.after, stop, tc.want)
				}
				if got := time.Since(m.arrivals[0]); got != 0 {
					t.Errorf("slept %v for nothing", got)
				}
				again := stopOf(t, g)
				if again.Reason != tc.want || !again.NotBefore.Equal(stop.NotBefore) {
					t.Errorf("the next request: %+v, want the same", again)
				}
				if got := m.count(); got != 1 {
					t.Errorf("%d requests inside the hold", got-1)
				}
				n := serve(ok)
				later := stopOf(t, govern(t, pacing.Config{Base: n, Restore: d.state, Budget: pacing.NewBudget(tc.budget)}))
				if later.Reason != tc.want || n.count() != 0 {
					t.Errorf("the next run: %+v after %d requests, want %s and none", later, n.count(), tc.want)
				}
			})
		})
	}
}

// TestGarbageRetryAfterIsNoBurst: what cannot be meant falls back to backoff.
func TestGarbageRetryAfterIsNoBurst(t *testing.T) {
	for _, value := range []string{"-5", "soon", "NaN", "Inf", "-9223372036854775808", "1e400", "0x10", ""} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(retryAfter(value))
			g, start := govern(t, pacing.Config{Base: m}), time.Now()
			mustFetch(t, g)
			if got := m.gaps(start)[1]; got < 2*time.Second {
				t.Errorf("Retry-After %q: asked again after %v, want the doubled interval of 2s", value, got)
			}
		})
	}
}

// TestRemainingZeroIsASuccess: the page is used, and the next request waits
// for the reset if there is one.
func TestRemainingZeroIsASuccess(t *testing.T) {
	for _, tc := range []struct {
		reset string
		want  time.Duration
	}{{"30", 30 * time.Second}, {"", time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			m := serve(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-RateLimit-Remaining", "0")
				if tc.reset != "" {
					w.Header().Set("X-RateLimit-Reset", tc.reset)
				}
				ok(w, r)
			})
			g, start := govern(t, pacing.Config{Base: m}), time.Now()
			mustFetch(t, g)
			mustFetch(t, g)
			if got := m.gaps(start); len(got) != 2 || got[1] < tc.want-100*ms || got[1] > tc.want+150*ms {
				t.Errorf("reset %q: requests after %v, want two, the second %v later", tc.reset, got, tc.want)
			}
		})
	}
}

// TestCancelledWait: the context of a request ends its wait, and does not
// stand in the way of the next.
func TestCancelledWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serve(ok)
		g := govern(t, pacing.Config{Base: m, Law: law.AIMD})
		mustFetch(t, g)
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*ms, func() { cancel(enough) })
		start := time.Now()
		req, _ := http.NewRequestWithContext(ctx, "GET", acme, nil)
		if _, err := g.Client().Do(req); !errors.Is(err, enough) || time.Since(start) != 300*ms {
			t.Errorf("ended after %v with %v, want %v", time.Since(start), err, enough)
		}
		if _, err := g.Client().Do(req); !errors.Is(err, enough) {
			t.Errorf("a context that has ended: %v, want %v", err, enough)
		}
		mustFetch(t, g)
		if got := m.gaps(start); len(got) != 2 || got[1] != 900*ms {
			t.Errorf("the next request left after %v, want 900ms", got)
		}
	})
}

// TestInFlightIsBounded: a slot is taken only by what is on its way, so that a
// request in its backoff does not hold back others.
func TestInFlightIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{}, 1)
		m := serve(func(w http.ResponseWriter, r *http.Request) {
			select {
			case first <- struct{}{}:
				w.WriteHeader(500)
				return
			default:
			}
			time.Sleep(100 * ms)
			ok(w, r)
		})
		g := govern(t, pacing.Config{Base: m, Concurrency: 3, Provider: collection.Provider{Unpaced: true}})
		start := time.Now()
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() { mustFetch(t, g) })
		}
		wg.Wait()
		if m.most != 3 {
			t.Errorf("%d requests at once, want 3", m.most)
		}
		if got := time.Since(start); got > 2200*ms {
			t.Errorf("30 requests took %v", got)
		}
	})
}

// TestFailedSaveClosesTheGate: what cannot be remembered must not be relied on.
func TestFailedSaveClosesTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		var d disk
		m := serve(d.degrade(0, full, retryAfter("1")))
		g := govern(t, pacing.Config{Base: m, Save: d.save})
		for range 2 {
			if _, err := fetch(t, g); !errors.Is(err, full) {
				t.Errorf("fetch: %v, want %v", err, full)
			}
		}
		if got := m.count(); got != 1 {
			t.Errorf("%d requests left, want 1", got)
		}
	})
}

// TestThrottledWithoutRetryAfter: an event has no Retry-After that was not sent, though it is
// waited: GitHub's documentation says for how long.
func TestThrottledWithoutRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		refused := 0
		m := serve(func(w http.ResponseWriter, _ *http.Request) {
			if refused++; refused == 1 {
				w.WriteHeader(403)
				io.WriteString(w, `{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`)
			}
		})
		g := govern(t, pacing.Config{Base: m, Observe: j.observe})
		began := time.Now()
		mustFetch(t, g)
		if took := time.Since(began); took < time.Minute {
			t.Errorf("it was asked again after %v", took)
		}
		throttles := j.of(collection.Throttled)
		if len(throttles) != 1 || throttles[0].Throttle.Signal != "403" || throttles[0].Throttle.RetryAfter != nil {
			t.Errorf("throttles %+v, want one 403 without Retry-After", throttles)
		}
	})
}

// TestTheNameOfAQuotaIsClean: it is the provider's, and nothing that it holds reaches a terminal or shows
// a credential.
func TestTheNameOfAQuotaIsClean(t *testing.T) {
	for code, want := range map[string]string{
		"DAILY":                                            "the quota DAILY",
		`daily_limit_exceeded\u001b[2J`:                    "the quota daily_limit_exceeded",
		"daily_limit_exceeded_s3cr3t-of-ours":              "a quota",
		"daily_limit_exceeded_" + strings.Repeat("x", 200): "a quota",
	} {
		t.Run(code[:5], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := serve(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(429)
					io.WriteString(w, `{"policyName": "`+code+`"}`)
				})
				g := govern(t, pacing.Config{Base: m, Provider: collection.Provider{Credential: "s3cr3t-of-ours", Limits: collection.Limits{Attempts: 1}}})
				_, err := fetch(t, g)
				stop, ok := errors.AsType[*collection.Stop](err)
				if !ok || !strings.Contains(stop.Detail, want+" is used up") {
					t.Errorf("%q: %v, want %s", code, err, want)
				}
			})
		})
	}
}

// TestEvents tells a short story: a throttle, a wait, a slower pace, and back.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		g := govern(t, pacing.Config{Base: serve(retryAfter("6")), Observe: j.observe,
			Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 4, Per: time.Second}}}})
		for range 60 {
			mustFetch(t, g)
		}
		throttles := j.of(collection.Throttled)
		if len(throttles) != 1 || throttles[0].Throttle.Signal != "429" || *throttles[0].Throttle.RetryAfter != 6 {
			t.Errorf("throttles %+v, want one 429 with 6 s", throttles)
		}
		rates := j.of(collection.RateChanged)
		if len(rates) < 3 || len(rates) > 15 {
			t.Fatalf("%d changes of the rate were told, want a few", len(rates))
		}
		first, last := rates[0].Rate, rates[len(rates)-1].Rate
		if first.Learned != 0.5 || first.Previous != 1 || *first.Ceiling != 4 || last.Learned != 4 {
			t.Errorf("rates from %+v to %+v, want 1 to 0.5 and up to 4", first, last)
		}
		starts, ends := j.of(collection.WaitStarted), j.of(collection.WaitEnded)
		if len(starts) == 0 || len(starts) != len(ends) {
			t.Fatalf("%d waits started and %d ended", len(starts), len(ends))
		}
		long := 0
		waiting := false
		for _, e := range j.events {
			if started := e.Kind == collection.WaitStarted; started || e.Kind == collection.WaitEnded {
				if started == waiting {
					t.Fatalf("%s is told out of order, at %v", e.Kind, e.Time)
				}
				waiting = started
			}
		}
		for i := range starts {
			if starts[i].Wait.Seconds <= 0.5 {
				t.Errorf("a wait of %v s was told", starts[i].Wait.Seconds)
			}
			if starts[i].Wait.Cause == collection.WaitRetryAfter && starts[i].Wait.Seconds > 6 {
				long++
			}
			if starts[i].Provider != "acme" || starts[i].Time.IsZero() {
				t.Errorf("wait told as %+v", starts[i])
			}
		}
		if long != 1 {
			t.Errorf("%d waits for Retry-After 6 were told, want 1", long)
		}
	})
}

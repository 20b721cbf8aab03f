package pacing_test

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/pacing/gate"
)

// TestRateChangesAreKept: how the pace came to be what it is can be asked
// later, once each, though a bare 429 is nothing that must be saved at once.
func TestRateChangesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		var j journal
		codes := []int{200, 200, 200, 429, 200}
		g := govern(t, pacing.Config{Base: serve(statuses(codes...)), Save: d.save, Observe: j.observe})
		for range 4 {
			mustFetch(t, g)
			time.Sleep(10 * time.Second)
		}
		if err := g.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var kept []collection.RateInfo
		for _, e := range d.events {
			if e.Rate != nil {
				kept = append(kept, *e.Rate)
			}
		}
		told := j.of(collection.RateChanged)
		if len(kept) != len(told) || len(kept) == 0 {
			t.Fatalf("%d changes of the rate were kept, and %d told", len(kept), len(told))
		}
		fell := 0
		for i, r := range kept {
			if want := *told[i].Rate; r.Learned != want.Learned {
				t.Errorf("kept %+v, told %+v", r, want)
			}
			if r.Binds == "" {
				t.Errorf("%+v does not say what binds", r)
			}
			if r.Learned < r.Previous {
				fell++
				if r.LastBackoff == nil || r.LastBackoff.Reason != "throttled" || r.LastBackoff.At != r.Previous {
					t.Errorf("the last backoff of %+v is %+v", r, r.LastBackoff)
				}
			}
		}
		if fell != 1 {
			t.Errorf("the rate fell %d times, want once", fell)
		}
		before := len(d.events)
		if err := g.Flush(t.Context()); err != nil || len(d.events) != before {
			t.Errorf("a second save: %v, %d events more", err, len(d.events)-before)
		}
	})
}

// TestAnnouncedLimitsAreKept: what a provider announced is stored, once for each
// limit of a run, so that somebody can ask for it later.
func TestAnnouncedLimitsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		announcing := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Limit", "300")
			w.Header().Set("X-RateLimit-Remaining", "212")
			w.Header().Set("X-RateLimit-Reset", "41")
		}
		g := govern(t, pacing.Config{Base: serve(announcing), Save: d.save})
		for range 3 {
			mustFetch(t, g)
		}
		if err := g.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var kept []collection.LimitInfo
		for _, e := range d.events {
			if e.Limit != nil {
				kept = append(kept, *e.Limit)
			}
		}
		if len(kept) != 1 || kept[0].Limit != 300 || kept[0].Remaining != 212 {
			t.Errorf("kept %+v, want the limit of 300 with 212 left, once", kept)
		}
	})
}

// TestRateChangesSayWhatBinds, as whoever asks at that moment is told.
func TestRateChangesSayWhatBinds(t *testing.T) {
	silence := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(429)
	}
	for _, tc := range []struct {
		name     string
		provider collection.Provider
		answer   http.HandlerFunc
		requests int
		want     gate.Bound // of the last change
	}{
		{"the start", collection.Provider{}, statuses(200), 10, gate.Rising},
		{"the ceiling", collection.Provider{Ceilings: []collection.Ceiling{{Count: 2, Per: time.Second}}}, statuses(200), 200, gate.CeilingOf},
		{"a silence", collection.Provider{Limits: collection.Limits{Attempts: 1}}, silence, 1, gate.HoldOf},
	} {
		synctest.Test(t, func(t *testing.T) {
			var j journal
			tc.provider.Name, tc.provider.Origins = "acme", []string{"https://acme.test"}
			g := govern(t, pacing.Config{Provider: tc.provider, Base: serve(tc.answer), Observe: j.observe})
			for range tc.requests {
				_, _ = fetch(t, g)
			}
			told := j.of(collection.RateChanged)
			if len(told) == 0 || told[len(told)-1].Rate.Binds != string(tc.want) {
				t.Errorf("%s: changes %+v, want one that says that %s binds", tc.name, told, tc.want)
			}
		})
	}
}

// TestEachChangeOfThePaceIsTold: whatever moves the pace, what is told leads from
// one pace to the next, and each step has its cause.
func TestEachChangeOfThePaceIsTold(t *testing.T) {
	const late = 300 // requests before the provider changes
	for _, tc := range []struct {
		name   string
		answer func(n int, w http.ResponseWriter)
		want   gate.Bound // of the fall
	}{
		{"an announced limit", func(n int, w http.ResponseWriter) {
			if n > late {
				w.Header().Set("X-RateLimit-Limit", "120")
				w.Header().Set("X-RateLimit-Remaining", "60")
				w.Header().Set("X-RateLimit-Reset", "30")
			}
		}, gate.Announced},
		{"late answers", func(n int, w http.ResponseWriter) {
			took := 20 * time.Millisecond
			if n > late {
				took = 3 * time.Second
			}
			time.Sleep(took)
		}, gate.Slow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var j journal
				var n atomic.Int64
				g := govern(t, pacing.Config{Observe: j.observe,
					Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 40, Per: time.Second}}},
					Base: serve(func(w http.ResponseWriter, _ *http.Request) {
						tc.answer(int(n.Add(1)), w)
					})})
				first := g.Status().PerSecond
				var workers sync.WaitGroup
				for range 4 {
					workers.Go(func() {
						for range late / 2 {
							mustFetch(t, g)
						}
					})
				}
				workers.Wait()
				was, fell := first, false
				for _, e := range j.of(collection.RateChanged) {
					if apart(e.Rate.Previous, was) {
						t.Errorf("%.2f/s -> %.2f/s (%s) was told after a pace of %.2f/s", e.Rate.Previous, e.Rate.Learned, e.Rate.Reason, was)
					}
					if was = e.Rate.Learned; was < e.Rate.Previous {
						fell = true
						if e.Rate.Reason != string(tc.want) {
							t.Errorf("a fall to %.2f/s is by %q, want %q", was, e.Rate.Reason, tc.want)
						}
					}
				}
				if now := g.Status().PerSecond; apart(now, was) || !fell {
					t.Errorf("the pace is %.2f/s; the last that was told is %.2f/s, of %d changes", now, was, len(j.of(collection.RateChanged)))
				}
			})
		})
	}
}

// TestTheLastSecondOfAWindowIsNoChange: what an announced limit has left is told with a reset in whole seconds, so that
// the last requests of a window are spread over more time than is left, or less. The pace after it is that before it.
func TestTheLastSecondOfAWindowIsNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var j journal
		start, window, used := time.Now(), 0, 0
		g := govern(t, pacing.Config{Observe: j.observe, Base: serve(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(40 * time.Millisecond)
			at := time.Since(start)
			if n := int(at / time.Minute); n != window {
				window, used = n, 0
			}
			used++
			w.Header().Set("RateLimit-Limit", "100")
			w.Header().Set("RateLimit-Remaining", strconv.Itoa(max(0, 100-used)))
			w.Header().Set("RateLimit-Reset", strconv.Itoa(int((time.Minute-at%time.Minute).Seconds())+1))
		})})
		for time.Since(start) < 200*time.Second {
			mustFetch(t, g)
		}
		for _, e := range j.of(collection.RateChanged) {
			if e.Rate.Learned < e.Rate.Previous {
				t.Errorf("after %v a fall from %.2f/s to %.2f/s was told (%s)", e.Time.Sub(start), e.Rate.Previous, e.Rate.Learned, e.Rate.Reason)
			}
		}
	})
}

// apart reports whether a person would see that one pace is not the other.
func apart(a, b float64) bool { return max(a, b) >= 1.5*min(a, b) }

// TestFewRateChangesAreKept: one save brings the newest ones, not all.
func TestFewRateChangesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d disk
		var codes []int
		for range 300 {
			codes = append(codes, 429, 200, 200, 200) // too few refusals for the breaker
		}
		g := govern(t, pacing.Config{Base: serve(statuses(codes...)), Save: d.save, Law: "aimd", Budget: pacing.NewBudget(pacing.BudgetLimits{RetryTokens: 1000})})
		for range 400 {
			if _, err := fetch(t, g); err != nil {
				time.Sleep(time.Minute)
			}
			time.Sleep(time.Minute)
		}
		before := len(d.events)
		if err := g.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(d.events) - before; got != 64 {
			t.Errorf("the last save brought %d events, want 64", got)
		}
	})
}

// TestRouteOfAStreamIsToldAndKept: the provider counts one stream apart, ten times as
// strictly, and says nothing of it. What becomes of its pace is told as an event of
// that stream, whichever request led to it, and saved.
func TestRouteOfAStreamIsToldAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type bucket struct {
			rate, tokens float64
			at           time.Time
		}
		var mu sync.Mutex
		buckets := map[string]*bucket{"/issues": {rate: 10, at: time.Now()}, "/search": {rate: 1, at: time.Now()}}
		provider := serve(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			b := buckets[r.URL.Path]
			b.tokens = min(3, b.tokens+time.Since(b.at).Seconds()*b.rate)
			if b.at = time.Now(); b.tokens < 1 {
				w.WriteHeader(429)
				return
			}
			b.tokens--
		})
		var d disk
		var j journal
		g := govern(t, pacing.Config{Base: provider, Save: d.save, Observe: j.observe,
			Provider: collection.Provider{Ceilings: []collection.Ceiling{{Count: 20, Per: time.Second}}}})
		var group sync.WaitGroup
		for _, stream := range []string{"issues", "search"} {
			group.Go(func() {
				ctx := collection.WithPlace(t.Context(), collection.Place{Stream: stream})
				for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); {
					req, err := http.NewRequestWithContext(ctx, http.MethodGet, acme+"/"+stream, nil)
					if err != nil {
						t.Error(err)
						return
					}
					if resp, err := g.Client().Do(req); err == nil {
						resp.Body.Close()
					}
				}
			})
		}
		group.Wait()
		var kept []collection.Event
		for _, e := range d.events {
			if e.Route != nil {
				kept = append(kept, e)
			}
		}
		told := j.of(collection.RouteChanged)
		if len(told) < 2 || len(kept) != len(told) {
			t.Fatalf("%d changes of a route were told, and %d kept; want the same, and at least a trial and its end", len(told), len(kept))
		}
		for i, e := range kept {
			if *e.Route != *told[i].Route || e.Stream != "search" || e.Route.Stream != "search" || e.Provider != "acme" {
				t.Errorf("kept %+v %+v, told %+v", e, *e.Route, *told[i].Route)
			}
		}
		if last := told[len(told)-1]; last.Route.State != collection.RouteKept {
			t.Errorf("in the end the route is %s", last.Route.State)
		}
	})
}

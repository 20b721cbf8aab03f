package sim_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"collect/collection"
	"collect/pacing/sim"
)

// TestLists: what is asked for page by page, one request at a time, is not slowed down by what has nothing to do with
// the pace.
func TestLists(t *testing.T) {
	for _, tc := range []struct {
		family     string
		seed       uint64
		undeclared bool
		least      float64
	}{
		{"one-slow", 5001, true, 0.9}, // one answer in ten is late, also to who asks for nothing else
		{"one-slow", 7702, false, 0.9},
		{"wikimedia", 5003, false, 0.7}, // its replicas are behind for a minute or two
	} {
		t.Run(fmt.Sprintf("%s, %d", tc.family, tc.seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := family(t, tc.family).New(tc.seed)
				p.PageByPage()
				owner := perSecond(sim.Ceiling)
				if tc.undeclared {
					owner = collection.Provider{}
				}
				var state []byte
				sim.Play(p, sim.Owned(owner, 0), time.Hour, &state)
				if s := p.Score(0, time.Hour); s.Share < tc.least {
					t.Errorf("%.1f %% of the work, want %.0f %%", 100*s.Share, 100*tc.least)
				}
			})
		})
	}
}

// TestSlowSpells: a provider that answers late for a while, whatever it is asked, is asked as before half a minute
// after it is quick again, or a minute after a minute of it.
func TestSlowSpells(t *testing.T) {
	const from = 150 * time.Second
	for _, tc := range []struct {
		ceiling int // 0: none is declared
		length  time.Duration
		latency float64
	}{{10, 10 * time.Second, 2}, {10, time.Minute, 4}, {0, 15 * time.Second, 4}, {20, 15 * time.Second, 4}, {40, 15 * time.Second, 4}} {
		t.Run(fmt.Sprintf("%d a second, %v", tc.ceiling, tc.length), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := sim.Plain(nil, ordinary)
				over := from + tc.length
				p.Slow(tc.latency, from, over)
				owner := collection.Provider{}
				if tc.ceiling > 0 {
					owner = perSecond(tc.ceiling)
				}
				var state []byte
				sim.Play(p, sim.Owned(owner, 0), over+2*time.Minute, &state)
				back := over + max(30*time.Second, tc.length)
				before, after := p.Score(from-30*time.Second, from).Requests, p.Score(back, back+30*time.Second).Requests
				if float64(after) < 0.9*float64(before) {
					t.Errorf("%d requests in half a minute, and %v after the spell %d", before, back-over, after)
				}
			})
		})
	}
}

// TestRefusedForAWhile: a provider that refuses or fails a part of all requests for a while, whatever the pace, is asked as before
// four minutes after that is over. Each refusal made the pace slower, and there were fewer and fewer answers to tell
// that nothing is wrong any more.
func TestRefusedForAWhile(t *testing.T) {
	const from, length = 400 * time.Second, time.Minute
	for _, tc := range []struct {
		status int
		oneIn  float64
		limit  float64 // 0: none
		window float64 // of so many seconds; 0: a bucket
		paged  bool
		least  float64 // share of the pace before
	}{
		{http.StatusTooManyRequests, 2, 7, 30, false, 0.9},
		{http.StatusTooManyRequests, 5, 0, 0, false, 0.9},
		{http.StatusTooManyRequests, 5, 12, 0, true, 0.9},
		{http.StatusTooManyRequests, 2, 12, 0, true, 0.7}, // it looks like a limit far below
		{http.StatusServiceUnavailable, 2, 0, 0, false, 0.9},
		{http.StatusServiceUnavailable, 2, 12, 0, false, 0.9},
		{http.StatusBadGateway, 2, 0, 0, true, 0.9},
	} {
		t.Run(fmt.Sprintf("%d to one in %v, limit %v, window %v, paged %v", tc.status, tc.oneIn, tc.limit, tc.window, tc.paged), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var limit sim.Limiter
				switch {
				case tc.window > 0:
					limit = sim.Window(tc.limit*tc.window, tc.window)
				case tc.limit > 0:
					limit = sim.Bucket(tc.limit, 10)
				}
				p := sim.Plain(limit, ordinary)
				if tc.paged {
					p.PageByPage()
				}
				over := from + length
				p.Partly(tc.oneIn, tc.status, from, over)
				var state []byte
				sim.Play(p, sim.Owned(perSecond(10), 0), over+5*time.Minute, &state)
				before, after := p.Score(from-time.Minute, from), p.Score(over+4*time.Minute, over+5*time.Minute)
				if was, is := before.Requests-before.Refusals, after.Requests-after.Refusals; float64(is) < tc.least*float64(was) {
					t.Errorf("%d answers in the minute before it, and %d in the fifth minute after it", was, is)
				}
			})
		})
	}
}

// TestEverythingRefusedEarly: where everything was refused for a while in the first minute, whatever the pace, that is taken for
// a limit no longer than it is confirmed: nothing is declared, and 20/s are allowed.
func TestEverythingRefusedEarly(t *testing.T) {
	for _, tc := range []struct{ from, length time.Duration }{{50 * time.Second, 5 * time.Second}, {50 * time.Second, 15 * time.Second}, {30 * time.Second, 30 * time.Second}} {
		t.Run(fmt.Sprintf("%v at %v", tc.length, tc.from), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := sim.Plain(sim.Bucket(20, 10), ordinary)
				over := tc.from + tc.length
				p.Away(http.StatusTooManyRequests, tc.from, over)
				var state []byte
				sim.Play(p, sim.Owned(collection.Provider{}, 0), over+6*time.Minute, &state)
				s := p.Score(over+5*time.Minute, over+6*time.Minute)
				if rate := float64(s.Requests-s.Refusals) / 60; rate < 10 {
					t.Errorf("%.1f/s in the sixth minute after it, want 10", rate)
				}
			})
		})
	}
}

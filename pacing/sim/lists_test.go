package sim_test

import (
	"fmt"
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
// after it is quick again.
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
				before, after := p.Score(from-30*time.Second, from).Requests, p.Score(over+30*time.Second, over+time.Minute).Requests
				if float64(after) < 0.9*float64(before) {
					t.Errorf("%d requests in half a minute, and half a minute after the spell %d", before, after)
				}
			})
		})
	}
}

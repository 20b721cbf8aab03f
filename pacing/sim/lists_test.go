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
	} {
		t.Run(fmt.Sprintf("%s, %d", tc.family, tc.seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := family(t, tc.family).New(tc.seed)
				p.PageByPage()
				owner := collection.Provider{Ceilings: []collection.Ceiling{{Count: sim.Ceiling, Per: time.Second}}}
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

// Package coordinatortest is the suite of [coordinator.Coordinator]: an
// implementation grants what [coordinator.Compute] does, step for step.
package coordinatortest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"collect/pacing/coordinator"
)

// An Open returns a coordinator whose fleets nobody else uses.
type Open func(t *testing.T, rules coordinator.Rules) coordinator.Coordinator

// Test runs the suite. What has a server is tried while it fails: see [Server].
func Test(t *testing.T, server Server, open Open) {
	for _, a := range []coordinator.Aggregate{coordinator.Median, coordinator.Min} {
		for _, s := range []coordinator.Split{coordinator.Equal, coordinator.Demand} {
			rules := coordinator.Rules{Aggregate: a, Split: s}
			t.Run(fmt.Sprintf("%s,%s", a, s), func(t *testing.T) { stepForStep(t, open(t, rules), rules) })
		}
	}
	t.Run("memory lost", func(t *testing.T) { memoryLost(t, open(t, coordinator.Rules{})) })
	t.Run("refused", func(t *testing.T) { refused(t, open(t, coordinator.Rules{})) })
	t.Run("at once", func(t *testing.T) { atOnce(t, open(t, coordinator.Rules{})) })
	if server != nil {
		t.Run("outage", func(t *testing.T) { outage(t, open(t, coordinator.Rules{}), server) })
	}
}

// steps is how long a history is.
const steps = 400

// A fleet plays nodes, some of which misbehave, against two coordinators: the
// one that is tested, and the pure function at the times that the tested one
// tells.
type fleet struct {
	t      *testing.T
	c      coordinator.Coordinator
	rules  coordinator.Rules
	rand   *rand.Rand
	key    string
	state  coordinator.State
	nodes  map[string]*coordinator.Report
	counts map[string]int
}

// Their order by bytes is none by letters.
var ids = []string{"b", "B", "a-10", "a-2", "~", "A"}

func stepForStep(t *testing.T, c coordinator.Coordinator, rules coordinator.Rules) {
	counts := map[string]int{}
	fleets := []*fleet{}
	for i := range 2 { // keys that must not meet
		fleets = append(fleets, &fleet{
			t: t, c: c, rules: rules, counts: counts,
			rand:  rand.New(rand.NewPCG(uint64(i), 1)),
			key:   fmt.Sprintf("fleet %d", i),
			nodes: map[string]*coordinator.Report{},
		})
	}
	for i := range steps {
		fleets[i%2].step()
		if t.Failed() {
			return
		}
	}
	for _, branch := range []string{"stale", "evicted", "left", "capped", "raised", "lowered", "several", "unacknowledged"} {
		if counts[branch] < 5 {
			t.Errorf("in %d steps, %s %d times: %v", steps, branch, counts[branch], counts)
		}
	}
}

// step reports for some node and compares the grants.
func (f *fleet) step() {
	r := f.report()
	got, gotErr := f.c.Beat(f.t.Context(), f.key, r)
	now := got.At
	if gotErr != nil {
		now = time.Now().UnixMicro() // it tells none, and the state does not depend on it
	}
	next, want, wantErr := coordinator.Compute(f.state, r, f.rules, "a life", now)
	if got != want || !errors.Is(gotErr, wantErr) || wantErr == nil && gotErr != nil {
		f.t.Errorf("%+v\nafter %+v\n got %+v, %v\nwant %+v, %v", r, f.state, got, gotErr, want, wantErr)
		return
	}
	f.count(r, got, gotErr, next)
	f.state = next
	if node := f.nodes[r.ID]; gotErr == nil && r.Leaving {
		delete(f.nodes, r.ID)
	} else if gotErr == nil && f.rand.IntN(3) > 0 { // else the grant is lost
		node.Share, node.Gen = got.Share, got.Gen
	}
}

func (f *fleet) report() coordinator.Report {
	id := ids[f.rand.IntN(len(ids))]
	node := f.nodes[id]
	if node == nil {
		node = &coordinator.Report{ID: id, Limit: 1 + f.rand.IntN(20)}
		f.nodes[id] = node
	}
	node.Seq++
	node.InFlight = f.rand.IntN(node.Share + 2)
	if f.rand.IntN(5) == 0 {
		node.Limit = 1 + f.rand.IntN(20)
	}
	node.Lease = time.Hour
	if f.rand.IntN(4) == 0 || f.state.Server == "" {
		node.Lease = time.Microsecond
	}
	r := *node
	r.Leaving = f.rand.IntN(8) == 0
	if f.rand.IntN(10) == 0 && r.Seq > 1 {
		r.Seq -= f.rand.Int64N(2) + 1
		r.Seq = max(1, r.Seq)
	}
	return r
}

// count notes which branches a step took.
func (f *fleet) count(r coordinator.Report, g coordinator.Grant, err error, next coordinator.State) {
	was, is := map[string]coordinator.Record{}, map[string]coordinator.Record{}
	for _, n := range f.state.Nodes {
		was[n.ID] = n
	}
	for _, n := range next.Nodes {
		is[n.ID] = n
	}
	note := func(branch string, yes bool) {
		if yes {
			f.counts[branch]++
		}
	}
	note("stale", errors.Is(err, coordinator.ErrStale))
	for id := range was {
		_, there := is[id]
		note("left", !there && id == r.ID)
		note("evicted", !there && id != r.ID)
	}
	note("capped", g.Share < g.Fair)
	note("raised", is[r.ID].Share > was[r.ID].Share)
	note("lowered", is[r.ID].Share < was[r.ID].Share)
	note("several", g.Nodes > 2)
	note("unacknowledged", is[r.ID].High > is[r.ID].Share)
}

// memoryLost: a coordinator that remembers nothing lets a node keep what it
// has, and raises nobody for one lease.
func memoryLost(t *testing.T, c coordinator.Coordinator) {
	for _, step := range []struct {
		report coordinator.Report
		share  int
	}{
		{coordinator.Report{ID: "a", Seq: 1, Limit: 8, InFlight: 1, Share: 3, Gen: 57, Lease: time.Hour}, 3},
		{coordinator.Report{ID: "b", Seq: 1, Limit: 8, Lease: time.Hour}, 0},
		{coordinator.Report{ID: "c", Seq: 9, Limit: 8, Share: 6, Gen: 3, Lease: time.Hour}, 2},
		{coordinator.Report{ID: "a", Seq: 2, Limit: 8, Share: 3, Gen: 57, Lease: time.Hour}, 2},
	} {
		got, err := c.Beat(t.Context(), "lost", step.report)
		if err != nil || got.Share != step.share || got.Gen < step.report.Gen {
			t.Errorf("%+v: %+v, %v, want a share of %d of a later generation", step.report, got, err, step.share)
		}
	}
}

// OldMemory checks that what a coordinator remembers from another life of its
// server counts as lost: age makes the memory of a fleet one from another life.
func OldMemory(t *testing.T, c coordinator.Coordinator, age func(key string)) {
	for _, step := range []struct {
		report coordinator.Report
		aged   bool
		share  int
	}{
		{coordinator.Report{ID: "first", Seq: 1, Limit: 8, Lease: time.Microsecond}, false, 0},
		{coordinator.Report{ID: "a", Seq: 1, Limit: 8, Lease: time.Hour}, false, 8},
		{coordinator.Report{ID: "b", Seq: 1, Limit: 8, Share: 2, Gen: 1, Lease: time.Hour}, true, 2},
		{coordinator.Report{ID: "c", Seq: 1, Limit: 8, Lease: time.Hour}, false, 0},
		{coordinator.Report{ID: "a", Seq: 1, Limit: 8, Share: 6, Gen: 7, Lease: time.Hour}, false, 3},
	} {
		if step.aged {
			age("old")
		}
		got, err := c.Beat(t.Context(), "old", step.report)
		if err != nil || got.Share != step.share {
			t.Errorf("%+v: %+v, %v, want a share of %d", step.report, got, err, step.share)
		}
	}
}

// refused: what no node may report, and a context that has ended.
func refused(t *testing.T, c coordinator.Coordinator) {
	good := coordinator.Report{ID: "a", Seq: 1, Limit: 1, Lease: time.Second}
	for _, change := range []func(*coordinator.Report){
		func(r *coordinator.Report) { r.ID = "" },
		func(r *coordinator.Report) { r.ID = "a b" },
		func(r *coordinator.Report) { r.ID = "ä" },
		func(r *coordinator.Report) { r.Seq = 0 },
		func(r *coordinator.Report) { r.Seq = 1 << 53 },
		func(r *coordinator.Report) { r.Limit = 0 },
		func(r *coordinator.Report) { r.Limit = 1_000_001 },
		func(r *coordinator.Report) { r.InFlight = -1 },
		func(r *coordinator.Report) { r.Share = -1 },
		func(r *coordinator.Report) { r.Gen = -1 },
		func(r *coordinator.Report) { r.Lease = 0 },
		func(r *coordinator.Report) { r.Lease = 25 * time.Hour },
	} {
		r := good
		change(&r)
		if g, err := c.Beat(t.Context(), "refused", r); !errors.Is(err, coordinator.ErrReport) {
			t.Errorf("%+v: %+v, %v, want %v", r, g, err, coordinator.ErrReport)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if g, err := c.Beat(ended, "refused", good); err == nil {
		t.Errorf("with a context that has ended: %+v, and no error", g)
	}
	if g, err := c.Beat(t.Context(), "refused", good); err != nil {
		t.Errorf("%+v: %+v, %v", good, g, err)
	}
}

// atOnce: reports that meet count one after the other.
func atOnce(t *testing.T, c coordinator.Coordinator) {
	const nodes, beats, limit = 4, 20, 9
	if _, err := c.Beat(t.Context(), "at once", coordinator.Report{ID: "first", Seq: 1, Limit: limit, Lease: time.Microsecond}); err != nil {
		t.Fatal(err)
	}
	var shares [nodes]int // last granted
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() {
			r := coordinator.Report{ID: fmt.Sprint("node-", i), Limit: limit, Lease: time.Hour}
			for range beats {
				r.Seq++
				g, err := c.Beat(t.Context(), "at once", r)
				if err != nil || g.Gen < r.Gen {
					t.Errorf("%+v: %+v, %v", r, g, err)
					return
				}
				r.Share, r.Gen, r.InFlight = g.Share, g.Gen, g.Share
				shares[i] = g.Share
			}
		})
	}
	wg.Wait()
	g, err := c.Beat(t.Context(), "at once", coordinator.Report{ID: "last", Seq: 1, Limit: limit, Lease: time.Hour})
	sum := g.Share
	for _, share := range shares {
		sum += share
	}
	if err != nil || g.Nodes != nodes+1 || sum > limit {
		t.Errorf("after shares of %v: %+v, %v, want %d nodes with at most %d together", shares, g, err, nodes+1, limit)
	}
}

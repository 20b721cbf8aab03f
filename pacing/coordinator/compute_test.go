package coordinator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"collect/pacing/coordinator"
)

const life = "a life of the server"

// settled is the state of a coordinator that grants at once.
func settled() coordinator.State { return coordinator.State{Server: life} }

// TestCompute plays histories of reports: who, what, and the share expected.
func TestCompute(t *testing.T) {
	type step struct {
		id              string
		limit, inFlight int
		gen             int64 // acknowledged; -1: the last one granted
		at              int64 // seconds
		share, fair     int
	}
	for _, tc := range []struct {
		name  string
		rules coordinator.Rules
		steps []step
	}{
		{"alone it has all", coordinator.Rules{}, []step{{"a", 4, 0, 0, 0, 4, 4}}},
		{"a node that joins waits until the share is given up, acknowledged and drained", coordinator.Rules{}, []step{
			{"a", 4, 0, 0, 0, 4, 4},
			{"b", 4, 0, 0, 0, 0, 2},
			{"a", 4, 4, -1, 0, 2, 2},
			{"b", 4, 0, -1, 0, 0, 2}, // a may not know yet
			{"a", 4, 4, -1, 0, 2, 2},
			{"b", 4, 0, -1, 0, 0, 2}, // a knows, and has 4 in flight
			{"a", 4, 3, -1, 0, 2, 2},
			{"b", 4, 0, -1, 0, 1, 2},
			{"a", 4, 2, -1, 0, 2, 2},
			{"b", 4, 0, -1, 0, 2, 2},
		}},
		{"the lower median", coordinator.Rules{}, []step{{"a", 9, 0, 0, 0, 9, 9}, {"b", 5, 0, 0, 0, 0, 2}, {"c", 7, 0, 0, 0, 0, 2}}},
		{"the smallest", coordinator.Rules{Aggregate: coordinator.Min}, []step{{"a", 9, 0, 0, 0, 9, 9}, {"b", 5, 0, 0, 0, 0, 2}, {"c", 7, 0, 0, 0, 0, 1}}},
		{"what is left over goes to the first", coordinator.Rules{}, []step{{"c", 5, 0, 0, 0, 5, 5}, {"b", 5, 0, 0, 0, 0, 3}, {"a", 5, 0, 0, 0, 0, 2}, {"b", 5, 0, 0, 0, 0, 2}, {"c", 5, 0, -1, 0, 1, 1}}},
		{"a lease ends after its last moment", coordinator.Rules{}, []step{
			{"a", 4, 4, 0, 0, 4, 4}, {"b", 4, 0, 0, 10, 0, 2}, {"b", 4, 0, 0, 11, 4, 4},
		}},
		{"a node alone survives its own lease", coordinator.Rules{}, []step{{"a", 4, 4, 0, 0, 4, 4}, {"a", 4, 4, -1, 1000, 4, 4}}},
		{"an idle node keeps one more than it uses", coordinator.Rules{Split: coordinator.Demand}, []step{
			{"a", 8, 0, 0, 0, 8, 8},
			{"b", 8, 0, 0, 0, 0, 7}, // a is idle, b shows that it wants more than nothing
			{"a", 8, 0, -1, 0, 1, 1},
			{"a", 8, 0, -1, 0, 1, 1},
			{"b", 8, 0, -1, 0, 7, 7},
			{"b", 8, 7, -1, 0, 7, 7},
		}},
		{"by demand each has one", coordinator.Rules{Split: coordinator.Demand}, []step{{"a", 1, 1, 0, 0, 1, 1}, {"b", 1, 0, 0, 0, 0, 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, gens := settled(), map[string]int64{}
			for i, st := range tc.steps {
				r := coordinator.Report{ID: st.id, Seq: int64(i + 1), Limit: st.limit, InFlight: st.inFlight, Gen: st.gen, Lease: 10 * time.Second}
				if st.gen < 0 {
					r.Gen = gens[st.id]
				}
				next, g, err := coordinator.Compute(s, r, tc.rules, life, st.at*1e6)
				if err != nil || g.Share != st.share || g.Fair != st.fair {
					t.Fatalf("step %d, %+v: %+v, %v, want a share of %d of %d\nafter %+v", i, r, g, err, st.share, st.fair, s)
				}
				s, gens[st.id] = next, g.Gen
			}
		})
	}
}

// TestClockSetBack: what was to end hours from now ends within one lease.
func TestClockSetBack(t *testing.T) {
	const hour = 3600 * 1_000_000
	r := coordinator.Report{ID: "a", Seq: 1, Limit: 4, Lease: time.Second}
	s, _, err := coordinator.Compute(coordinator.State{}, r, coordinator.Rules{}, life, 5*hour)
	if err != nil {
		t.Fatal(err)
	}
	r.ID = "b"
	for i, want := range []int{0, 4} { // a is there, and no share grows; a second later neither
		r.Seq++
		var g coordinator.Grant
		if s, g, err = coordinator.Compute(s, r, coordinator.Rules{}, life, hour+int64(i)*1_000_001); err != nil || g.Share != want {
			t.Errorf("beat %d after the clock was set back: %+v, %v, want a share of %d", i, g, err, want)
		}
	}
}

// member is a node of a fleet in which reports and grants come late, out of
// order, or never.
type member struct {
	id       string
	seq, gen int64
	share    int
	inFlight int
	reports  []coordinator.Report
	grants   []coordinator.Grant
	away     int64 // since when it has died
}

func (m *member) report(limit int, lease time.Duration) coordinator.Report {
	m.seq++
	return coordinator.Report{ID: m.id, Seq: m.seq, Limit: limit, InFlight: m.inFlight, Share: m.share, Gen: m.gen, Lease: lease}
}

// beat is a report and its grant without delay. Grants that were on their way
// come too late.
func (m *member) beat(t *rapid.T, s coordinator.State, limit int, rules coordinator.Rules, lease time.Duration, now int64) coordinator.State {
	s, g, err := coordinator.Compute(s, m.report(limit, lease), rules, life, now)
	if err != nil {
		t.Fatal(err)
	}
	m.share, m.gen, m.reports, m.grants = g.Share, g.Gen, nil, nil
	return s
}

// rapid draws the ends of a list more often than its middle: who dies is in the middle.
var steps = slices.Concat(slices.Repeat([]string{"report", "compute", "send"}, 12), []string{"die"}, slices.Repeat([]string{"deliver", "answer"}, 6))

// TestFleets plays random fleets: never is more granted or in flight than the
// budget.
func TestFleets(t *testing.T) {
	const lease = time.Second
	counts := map[string]int{}
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		rules := coordinator.Rules{Split: rapid.SampledFrom([]coordinator.Split{coordinator.Equal, coordinator.Demand}).Draw(t, "split")}
		nodes := make([]*member, rapid.IntRange(2, 5).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = &member{id: fmt.Sprint(i)}
		}
		s, now := settled(), int64(1)
		for range rapid.IntRange(400, 1200).Draw(t, "steps") {
			m := rapid.SampledFrom(nodes).Draw(t, "node")
			step := rapid.SampledFrom(steps).Draw(t, "step")
			if m.away > 0 && now-m.away <= lease.Microseconds() {
				continue // its lease may still run: it comes back later
			}
			m.away = 0
			switch step {
			case "report":
				m.reports = append(m.reports, m.report(limit, lease))
			case "compute":
				if len(m.reports) == 0 {
					continue
				}
				i := rapid.IntRange(0, min(1, len(m.reports)-1)).Draw(t, "which report")
				next, g, err := coordinator.Compute(s, m.reports[i], rules, life, now)
				m.reports = slices.Delete(m.reports, i, i+1)
				if err != nil {
					counts["stale"]++
					continue
				}
				if g.Share < g.Fair {
					counts["capped"]++
				}
				s, m.grants = next, append(m.grants, g)
			case "deliver":
				if len(m.grants) == 0 {
					continue
				}
				i := len(m.grants) - rapid.IntRange(1, len(m.grants)).Draw(t, "which grant, from the newest")
				if g := m.grants[i]; g.Gen >= m.gen {
					if g.Share < m.inFlight {
						counts["more in flight than the share"]++
					}
					m.share, m.gen = g.Share, g.Gen
				} else {
					counts["older grant"]++
				}
				m.grants = slices.Delete(m.grants, i, i+1)
			case "send":
				if m.inFlight < m.share {
					m.inFlight++
				}
			case "answer":
				m.inFlight = max(0, m.inFlight-1)
			case "die": // and its lease ends; the others keep theirs, which takes a grant in time
				*m = member{id: m.id, seq: m.seq, away: now}
				for range 2 {
					now += lease.Microseconds()/2 + 1
					for _, other := range nodes {
						if other.away == 0 && other.seq > 0 {
							s = other.beat(t, s, limit, rules, lease, now)
						}
					}
				}
				counts["died"]++
			}
			granted, inFlight := 0, 0
			for _, n := range s.Nodes {
				granted += n.Share
			}
			for _, n := range nodes {
				inFlight += n.inFlight
			}
			if granted > limit || inFlight > limit {
				t.Fatalf("%d granted, %d in flight, of a budget of %d: %+v", granted, inFlight, limit, s)
			}
			if inFlight == limit {
				counts["full"]++
			}
		}
	})
	for _, branch := range []string{"stale", "capped", "more in flight than the share", "older grant", "died", "full"} {
		if counts[branch] < checks/20 {
			t.Errorf("in %d checks, %s %d times", checks, branch, counts[branch])
		}
	}
}

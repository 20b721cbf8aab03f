package model_test

import "testing"

// A handoff is the protocol of pacing/coordinator by which nodes share a budget
// of requests in flight: the coordinator grants shares, a grant may arrive late
// or after a later one, and what a node has in flight cannot be recalled.
//
// It is the abstraction of GaleHeartbeatHandoff.tla of throttlekit, so that the
// states can be counted against the 250,624 that TLC is said to have found: two
// nodes; at most so many grants to a node from when it joins until it leaves;
// the fair share is the budget divided by the nodes, rounded up; a node that
// leaves takes with it what it had in flight, which is what the fence is for.
type handoff struct {
	budget uint8
	grants uint8 // to one node from when it joins; at most 3
	fault  handoffFault
}

type handoffFault uint8

const (
	handoffWhole     handoffFault = iota
	handoffNaive                  // a node is granted its part of the budget, whatever others hold
	handoffShareOnly              // what is reserved for a node is its last grant
	handoffSuffix                 // what a node has in flight is not reserved
	handoffReported               // what is reserved is the last grant, and what the node reported
	handoffTorn                   // a report has the generation of now and the requests of an earlier moment
)

// budgeted is the state: what is granted, what is in force, what is known.
type budgeted struct {
	nodes [2]member
}

type member struct {
	active   bool
	issued   uint8    // grants since it joined
	shares   [3]uint8 // of these grants
	applied  uint8    // the grant in force at the node; 0: none
	inFlight uint8
	acked    uint8 // the grant that the coordinator knows to be in force
	reported uint8 // what the coordinator knows to be in flight
}

// committed is the last share that was granted, enforced the one in force.
func (m member) committed() uint8 { return m.share(m.issued) }
func (m member) enforced() uint8  { return m.share(m.applied) }

func (m member) share(grant uint8) uint8 {
	if grant == 0 {
		return 0
	}
	return m.shares[grant-1]
}

// unacked is the highest grant that may still be in force, or come into it.
func (m member) unacked() (high uint8) {
	for g := max(1, m.acked); g <= m.issued; g++ {
		high = max(high, m.share(g))
	}
	return high
}

// reserve is what the coordinator keeps for a node when it grants to the other.
func (h handoff) reserve(m member) uint8 {
	switch {
	case !m.active || h.fault == handoffNaive:
		return 0
	case h.fault == handoffShareOnly:
		return m.committed()
	case h.fault == handoffSuffix:
		return m.unacked()
	case h.fault == handoffReported:
		return max(m.committed(), m.share(m.acked), m.reported)
	}
	return max(m.unacked(), m.reported)
}

// target is the fair share.
func (h handoff) target(b budgeted) uint8 {
	if b.nodes[0].active && b.nodes[1].active {
		return (h.budget + 1) / 2
	}
	return h.budget
}

func (h handoff) model() model[budgeted] {
	sums := func(of func(member) uint8, most uint8) func(_, b budgeted) bool {
		return func(_, b budgeted) bool { return of(b.nodes[0])+of(b.nodes[1]) > most }
	}
	inFlight := func(m member) uint8 { return m.inFlight }
	return model[budgeted]{
		start: budgeted{[2]member{{active: true}}},
		steps: h.steps,
		promises: []promise[budgeted]{
			{"GlobalCap", sums(member.committed, h.budget)},
			{"InflightCap", sums(inFlight, h.budget)},
			{"GlobalCapTight", sums(member.committed, h.budget-1)},
			{"InflightCapTight", sums(inFlight, h.budget-1)},
		},
	}
}

func (h handoff) steps(b budgeted, add func(who, what string, to budgeted)) {
	for i := range b.nodes {
		step := func(what string, change func(m *member)) {
			to := b
			change(&to.nodes[i])
			add([...]string{"A", "B"}[i], what, to)
		}
		m, other := b.nodes[i], b.nodes[1-i]
		if !m.active {
			step("joins", func(m *member) { *m = member{active: true} })
			continue
		}
		if other.active {
			step("leaves", func(m *member) { *m = member{} })
		}
		if m.issued < h.grants {
			step("is granted a share", func(m *member) {
				m.shares[m.issued] = min(h.target(b), h.budget-min(h.budget, h.reserve(other)))
				m.issued++
			})
		}
		for g := m.applied + 1; g <= m.issued; g++ {
			step("applies a grant", func(m *member) { m.applied = g })
		}
		if h.fault == handoffTorn {
			step("reports its generation", func(m *member) { m.acked = m.applied })
			step("reports what is in flight", func(m *member) { m.reported = m.inFlight })
		} else {
			step("reports", func(m *member) { m.acked, m.reported = m.applied, m.inFlight })
		}
		if m.inFlight < m.enforced() {
			step("sends", func(m *member) { m.inFlight++ })
		}
		if m.inFlight > 0 {
			step("is answered", func(m *member) { m.inFlight-- })
		}
	}
}

// TestHandoffKeepsTheBudget: in every state the shares and what is in flight
// are within the budget, and there are as many states as TLC found.
func TestHandoffKeepsTheBudget(t *testing.T) {
	h := handoff{budget: 4, grants: 3}
	got := h.model().only("GlobalCap", "InflightCap").explore()
	t.Logf("handoff, budget of %d, %d grants: %v", h.budget, h.grants, got)
	if got.broken != "" || got.states != 250_624 {
		t.Errorf("%v, want 250624 states and nothing broken\n%s", got, got.story())
	}
}

// TestHandoffFaults: the budget is the least bound, and without any one part
// of what is reserved it is passed.
func TestHandoffFaults(t *testing.T) {
	for _, test := range []struct {
		name    string
		fault   handoffFault
		promise string
		steps   int
	}{
		{"shares come to the budget", handoffWhole, "GlobalCapTight", 1},
		{"requests come to the budget", handoffWhole, "InflightCapTight", 6},
		{"naive split: shares", handoffNaive, "GlobalCap", 3},
		{"naive split: requests", handoffNaive, "InflightCap", 10},
		{"share only", handoffShareOnly, "InflightCap", 11},
		{"no requests in flight", handoffSuffix, "InflightCap", 13},
		{"what was reported", handoffReported, "InflightCap", 11},
		{"torn report", handoffTorn, "InflightCap", 13},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := handoff{budget: 4, grants: 3, fault: test.fault}.model().only(test.promise).explore()
			if got.broken != test.promise || got.depth != test.steps {
				t.Errorf("%v, want %s broken in %d steps", got, test.promise, test.steps)
			}
			t.Logf("handoff %s: %v\n%s", test.name, got, got.story())
		})
	}
}

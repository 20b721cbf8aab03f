package coordinator

import (
	"cmp"
	"slices"
)

// A State is what a coordinator remembers of one fleet. The zero State
// remembers nothing.
type State struct {
	Server  string   `json:"server"`  // the life of the server that wrote it
	Settled int64    `json:"settled"` // until when no share grows, µs
	Gen     int64    `json:"gen"`     // highest generation granted
	Nodes   []Record `json:"nodes"`   // by ID
}

// A Record is what a coordinator remembers of a node.
type Record struct {
	ID       string `json:"id"`
	Seq      int64  `json:"seq"`
	Limit    int    `json:"limit"`
	InFlight int    `json:"in_flight"` // as it reported
	Share    int    `json:"share"`     // last granted
	Gen      int64  `json:"gen"`       // of that grant
	High     int    `json:"high"`      // highest share granted since the last that it acknowledged, this one included
	Expires  int64  `json:"expires"`   // µs
	Lease    int64  `json:"lease"`     // µs
}

// reserve is what no other node may be granted. High covers a grant that may
// still be in force or come into force, InFlight the requests that outlive a
// share that was lowered. Each is needed: see internal/model.
func (r Record) reserve() int { return max(r.High, r.InFlight) }

// Compute returns the grant for a report, and the state after it. The report
// is one that [Report.Check] accepts; now is the time of the coordinator's
// clock in microseconds; server names the life of the server whose memory s is.
// It returns [ErrStale] if s has a later report of a node whose lease runs.
//
// The share is max(0, min(fair, L − Σ max(High, InFlight) of all others)).
func Compute(s State, r Report, rules Rules, server string, now int64) (State, Grant, error) {
	before, lease := s, r.Lease.Microseconds()
	if s.Server != server {
		s = State{Server: server, Settled: now + lease}
	}
	s.Settled = min(s.Settled, now+lease) // a clock that was set back adds no time
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Expires = min(n.Expires, now+n.Lease)
	}
	self, known := s.find(r.ID)
	if known && r.Seq <= s.Nodes[self].Seq && s.Nodes[self].Expires >= now {
		return before, Grant{}, ErrStale
	}
	if !known {
		s.Nodes = slices.Insert(s.Nodes, self, Record{ID: r.ID})
	}
	s.Nodes[self].report(r, now)
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n Record) bool {
		return n.ID != r.ID && n.Expires < now || n.ID == r.ID && r.Leaving && r.InFlight == 0
	})
	if self, known = s.find(r.ID); !known {
		return s, Grant{Gen: s.Gen, Nodes: len(s.Nodes), At: now}, nil
	}
	limit := rules.limit(s.Nodes)
	g := Grant{Limit: limit, Fair: rules.fair(s.Nodes, self, limit), Nodes: len(s.Nodes), At: now}
	target := g.Fair
	if now < s.Settled {
		target = min(target, r.Share)
	}
	if r.Leaving {
		target = 0
	}
	g.Share = max(0, min(target, limit-s.reservedBeside(self)))
	s.grant(&s.Nodes[self], g.Share)
	g.Gen = s.Nodes[self].Gen
	return s, g, nil
}

// find returns the index of the node, or the one that it would have.
func (s *State) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.Nodes, id, func(n Record, id string) int { return cmp.Compare(n.ID, id) })
}

// report takes over what a node says. A node that has the last generation in
// force can come to no other share. What it was granted of a coordinator that
// is forgotten counts as granted by this one.
func (n *Record) report(r Report, now int64) {
	n.Seq, n.Limit, n.InFlight = r.Seq, r.Limit, r.InFlight
	n.Lease = r.Lease.Microseconds()
	n.Expires = now + n.Lease
	if r.Gen > n.Gen {
		n.Gen, n.Share = r.Gen, r.Share
	}
	if r.Gen == n.Gen {
		n.High = n.Share
	}
}

func (s *State) reservedBeside(self int) (sum int) {
	for i, n := range s.Nodes {
		if i != self {
			sum += n.reserve()
		}
	}
	return sum
}

// grant notes a share. A generation is of the whole fleet, so that a node that
// comes back after it was evicted is granted a later one than before.
func (s *State) grant(n *Record, share int) {
	s.Gen = max(s.Gen, n.Gen)
	if share != n.Share {
		s.Gen++
		n.Gen, n.Share = s.Gen, share
	}
	n.High = max(n.High, share)
}

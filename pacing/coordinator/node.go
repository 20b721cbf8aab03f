package coordinator

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"collect/pacing/inflight"
)

// A Config says how a [Node] takes part. Zero fields mean the default.
type Config struct {
	Key   string            // of the budget
	ID    string            // of the node among all that share the budget: required, and unique; see [Report]
	Local *inflight.Limiter // what the node infers; only the node uses it from now on: required

	Beat     time.Duration // between two reports (1s)
	Lease    time.Duration // how long a grant holds without a report, longer than Beat; the same for all nodes of Key (2 × Beat)
	Margin   time.Duration // how long before its lease ends a node stops, at most Lease − Beat; see [Margin] ((Lease − Beat) / 2)
	Debounce time.Duration // between two reports, if something is to be told early (Beat / 20)

	Outage     Outage // what holds when the lease has ended
	OnFenced   func() // called once when the lease ends, or the first report fails: what is in flight and can be cancelled must be
	OnRestored func() // called once when a grant ends that
}

// An Outage says what a node may have in flight when its lease has ended
// because the coordinator does not answer.
type Outage string

const (
	Closed    Outage = "closed"     // nothing: the only one that keeps the budget; the default
	Local     Outage = "local"      // the node's own limit, so that N nodes may have N times the budget
	LastShare Outage = "last_share" // the share of the ended lease: the budget is kept as long as no node is granted more
)

// Margin returns the shortest margin that keeps the budget: step is how far the
// clock of the coordinator may jump ahead while a lease runs (it is set, or
// another server with another clock takes over), drift how much faster than the
// node's clock it may run (0.001: 1 ms in a second), and longest the longest
// request, or 0 if OnFenced cancels what is in flight.
//
// A lease runs at the node from when its report was sent and at the coordinator
// from when it was computed, which is later, each by its own clock: how far
// apart the clocks are does not matter. At worst it is computed at once, the
// clock jumps, and the rest of the lease runs fast: it ends after
// (lease − step) / (1 + drift) of the node's time.
func Margin(step time.Duration, drift float64, lease, longest time.Duration) time.Duration {
	ends := time.Duration(float64(lease-step) / (1 + drift))
	return lease - ends + longest
}

func (c Config) complete() (Config, error) {
	if c.Local == nil {
		return c, errors.New("a node needs a limiter of its own")
	}
	c.Beat = cmp.Or(c.Beat, time.Second)
	c.Lease = cmp.Or(c.Lease, 2*c.Beat)
	c.Margin = cmp.Or(c.Margin, (c.Lease-c.Beat)/2)
	c.Debounce = cmp.Or(c.Debounce, c.Beat/20)
	c.Outage = cmp.Or(c.Outage, Closed)
	switch {
	case c.Beat < time.Millisecond:
		return c, fmt.Errorf("a report each %v: want 1ms or more", c.Beat)
	case c.Lease <= c.Beat:
		return c, fmt.Errorf("a lease of %v ends before the report that renews it, %v after the last", c.Lease, c.Beat)
	case c.Margin < 0 || c.Margin > c.Lease-c.Beat:
		return c, fmt.Errorf("a margin of %v: want 0 to %v, a lease without the time between two reports", c.Margin, c.Lease-c.Beat)
	case c.Debounce <= 0 || c.Debounce > c.Beat:
		return c, fmt.Errorf("early reports each %v: want more than 0 and at most %v", c.Debounce, c.Beat)
	case c.Outage != Closed && c.Outage != Local && c.Outage != LastShare:
		return c, fmt.Errorf("nothing that holds in an outage is called %q: there are %s, %s, %s", c.Outage, Closed, Local, LastShare)
	}
	return c, Report{ID: c.ID, Seq: 1, Limit: 1, Lease: c.Lease}.Check()
}

// A Node is one process that shares a budget. It is safe for concurrent use.
// Nothing may be in flight before its first grant and after [Node.Run].
type Node struct {
	coordinator Coordinator
	cfg         Config
	early       chan struct{} // something is to be told early

	mu       sync.Mutex
	seq      int64
	grant    Grant     // in force, or the last one
	until    time.Time // the lease, less the margin
	standing standing
	err      error // of the last beat
}

// standing is how a node stands with its coordinator.
type standing uint8

const (
	joining standing = iota // it has not heard of it
	leased                  // its lease runs, as far as the clock was asked
	fenced                  // its lease has ended, or it never had one and the coordinator does not answer
	closed                  // it has left
)

// NewNode returns a node that has yet to [Node.Run].
func NewNode(c Coordinator, cfg Config) (*Node, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	return &Node{
		coordinator: c,
		cfg:         cfg,
		early:       make(chan struct{}, 1),
		// Higher than the sequence of a process before with the same ID.
		seq: time.Now().UnixMicro(),
	}, nil
}

// Acquire takes a slot for one request, if there is one, until [Node.Release].
func (n *Node) Acquire() (inflight.Slot, bool) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cfg.Local.InFlight() >= n.ceiling(now) {
		return inflight.Slot{}, false
	}
	return n.cfg.Local.Take(), true
}

// Release gives a slot back and tells what became of its request, with its
// round-trip time. A slot that was given back before changes nothing.
func (n *Node) Release(s inflight.Slot, o inflight.Outcome, rtt time.Duration) {
	n.mu.Lock()
	over := n.cfg.Local.InFlight() > n.grant.Share
	n.cfg.Local.Release(s, o, rtt)
	drained := over && n.cfg.Local.InFlight() <= n.grant.Share
	n.mu.Unlock()
	if drained {
		n.hurry() // others wait for what was in flight beyond the share
	}
}

// ceiling is how many requests may be in flight.
func (n *Node) ceiling(now time.Time) int {
	local := n.cfg.Local.Limit()
	switch {
	case n.standing == leased && n.leaseRuns(now):
		return min(n.grant.Share, local)
	case n.standing == joining || n.standing == closed || n.cfg.Outage == Closed:
		return 0
	case n.cfg.Outage == LastShare:
		return min(n.grant.Share, local)
	}
	return local
}

// leaseRuns asks the wall clock as well: the monotonic one of Linux stands
// still while a machine is suspended. A wall clock that jumps ahead fences the
// node until its next grant.
func (n *Node) leaseRuns(now time.Time) bool {
	return now.Before(n.until) && now.Round(0).Before(n.until.Round(0))
}

// hurry has the next report sent early.
func (n *Node) hurry() {
	select {
	case n.early <- struct{}{}:
	default:
	}
}

// Stats are a moment of a node.
type Stats struct {
	Ceiling  int   // requests that may be in flight now
	Local    int   // what the node infers
	InFlight int   // requests in flight
	Grant    Grant // the last one
	Fenced   bool  // its lease has ended
	Err      error // of the last report; nil: it was granted
}

// Stats returns the state of the node.
func (n *Node) Stats() Stats {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	return Stats{
		Ceiling:  n.ceiling(now),
		Local:    n.cfg.Local.Limit(),
		InFlight: n.cfg.Local.InFlight(),
		Grant:    n.grant,
		Fenced:   n.standing == fenced || n.standing == leased && !n.leaseRuns(now),
		Err:      n.err,
	}
}

// Package coordinator shares one budget of requests in flight among processes
// that ask one backend and do not know each other.
//
// Each process is a [Node]. It infers from the answers how many requests the
// backend bears, reports that number and its requests in flight to a
// [Coordinator] in heartbeats, and is granted a share. It has at most
// min(share, own limit) in flight.
//
//	node                                 coordinator
//	 │ report: seq, limit, in flight,         │
//	 │         generation in force            │
//	 ├───────────────────────────────────────►│ [Compute], in the coordinator's time
//	 │                grant: share, generation │
//	 │◄───────────────────────────────────────┤
//	 │ no grant until lease − margin           │ no report until the lease ends
//	 ▼ fenced: nothing more is sent            ▼ evicted: the share goes to others
//
// The budget is L, the smallest or the lower median of the reported limits,
// never their sum: each node infers a limit for the whole backend. The
// promises, for a fixed L and at any time:
//
//   - GlobalCap: the sum of the shares last granted is at most L.
//   - InflightCap: the sum of the requests in flight is at most L, also while
//     grants are late, lost or out of order.
//
// When L falls, the promises hold for the new L once the nodes have reported;
// requests in flight are never recalled. InflightCap needs the fence: see
// [Margin], and [Outage] for the ways to give it up. internal/model has the
// protocol as a model, in which both promises hold in every state.
//
// A coordinator whose server lost its memory, or may have (a restart, a
// promoted replica), discards the rest of it: for one lease each node keeps at
// most the share that it says it has, and no share grows.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Coordinator grants shares. It is safe for concurrent use, also by several
// processes. The suite coordinatortest states what an implementation must do.
type Coordinator interface {
	// Beat reports for a node of the fleet called key and returns its grant,
	// which is that of [Compute]. It returns [ErrStale] if a later report of
	// the node has arrived, and ErrReport for a report that cannot be. Any
	// other error leaves unknown whether the report arrived.
	Beat(ctx context.Context, key string, r Report) (Grant, error)
}

var (
	// ErrStale: the coordinator has a later report of this node. Where reports
	// are sent one after the other, another process has the same ID.
	ErrStale = errors.New("a later report of this node has arrived: does another process have its ID?")

	// ErrReport: a field of a report is out of its range.
	ErrReport = errors.New("no such report")
)

// A Report is what a node says of itself. Its fields are of one moment: a
// generation with the requests in flight of an earlier moment would pass the
// budget.
type Report struct {
	ID       string        // of the node, 1 to 100 printable ASCII characters without spaces; no other node has it
	Seq      int64         // higher in each report of the node
	Limit    int           // requests in flight that the node infers the backend to bear, 1 to 1,000,000
	InFlight int           // requests in flight
	Share    int           // share in force at the node; 0 if it is fenced
	Gen      int64         // generation of the last grant that the node applied; 0: none
	Lease    time.Duration // time to the next report, at most; the same for all nodes of a key
	Leaving  bool          // the node sends no more requests
}

// The bounds keep every sum exact in a double, which is the number of Redis's
// scripts.
const (
	mostRequests = 1_000_000
	mostSeq      = 1<<53 - 1
	longestLease = 24 * time.Hour
	longestID    = 100
)

// Check returns an error that wraps [ErrReport] if a field is out of its range.
func (r Report) Check() error {
	wrong := ""
	switch {
	case !plain(r.ID):
		wrong = fmt.Sprintf("ID %q: want 1 to %d printable ASCII characters without spaces", r.ID, longestID)
	case r.Seq < 1 || r.Seq > mostSeq:
		wrong = fmt.Sprintf("sequence %d", r.Seq)
	case r.Limit < 1 || r.Limit > mostRequests:
		wrong = fmt.Sprintf("limit of %d requests: want 1 to %d", r.Limit, mostRequests)
	case r.InFlight < 0 || r.InFlight > mostRequests:
		wrong = fmt.Sprintf("%d requests in flight", r.InFlight)
	case r.Share < 0 || r.Share > mostRequests:
		wrong = fmt.Sprintf("share of %d", r.Share)
	case r.Gen < 0 || r.Gen > mostSeq:
		wrong = fmt.Sprintf("generation %d", r.Gen)
	case r.Lease < time.Microsecond || r.Lease > longestLease:
		wrong = fmt.Sprintf("lease of %v: want 1µs to %v", r.Lease, longestLease)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrReport, wrong)
}

func plain(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return id != "" && len(id) <= longestID
}

// A Grant is what a node may use until its lease ends.
type Grant struct {
	Share int   // requests in flight that the node may have
	Gen   int64 // of the share: a later one is higher; it stays while the share does
	Limit int   // L, of the whole fleet
	Fair  int   // the share without what is reserved for others: more than Share while others hold it
	Nodes int   // in the fleet, this one included
	At    int64 // when it was computed: the coordinator's clock, in microseconds since 1970
}

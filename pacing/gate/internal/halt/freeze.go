package halt

import (
	"time"

	"collect/collection"
	"collect/internal/times"
	"collect/pacing/gate/internal/timeline"
	"collect/pacing/law"
)

// freezeFirst is how long the first freeze lasts before one test request may
// go out, and freezeStrikes after how many refusals in a row only an operator
// releases it. 15 minutes is the shortest window of the providers that ban
// clients which go on after a refusal.
const (
	freezeFirst   = 15 * time.Minute
	freezeStrikes = 3
)

// A Freeze stops all calls to a provider that refuses the account:
//
//	         403, unexplained              until
//	thawed ───────────────────→ frozen ───────────────→ one test request
//	  ↑                            ↑                        │     │
//	  │                            └── 403: twice as long ──┘     │
//	  └─────────────────────── answered ──────────────────────────┘
//
// An operator who releases it does not thaw it: the test request may go out at once, and
// what it brings decides.
type Freeze struct {
	Frozen   bool
	Operator bool       // only an operator releases it
	strikes  int        // refusals in a row
	Until    law.Moment // if no operator is needed
	Reason   string
	Note     string    // the operator's own words, if an operator froze it
	Since    time.Time // when the latest refusal, or the operator, froze it
	Released bool      // by an operator: the test request may go out
	Testing  bool      // the test request is in flight
	Fence    uint64    // the id of the latest request sent before the freeze
}

// Blocks reports whether no request may leave at now, not even a test.
func (f *Freeze) Blocks(now law.Moment) bool {
	return f.Frozen && (f.Operator || now < f.Until)
}

// OnSend notes that an attempt leaves, and returns whether it is the test.
func (f *Freeze) OnSend() bool {
	f.Testing = f.Frozen
	return f.Frozen
}

// Tested records the end of the test request.
func (f *Freeze) Tested(answered bool) *collection.FreezeInfo {
	f.Testing = false
	if !f.Frozen || !answered {
		return nil
	}
	*f = Freeze{Fence: f.Fence}
	return &collection.FreezeInfo{Reason: "test_request_answered"}
}

// A Refusal is an attempt that tells that the account is refused.
type Refusal struct {
	ID, Latest uint64 // of the attempt, and of the latest that left
	Why        string
	Operator   bool // only an operator may release it
}

// Refused begins a freeze, or makes it longer. A refusal of a request that left
// before the freeze began is the same refusal again.
func (f *Freeze) Refused(r Refusal, clock *timeline.Timeline, now law.Moment) *collection.FreezeInfo {
	if f.Frozen && r.ID <= f.Fence && (f.Operator || !r.Operator) {
		return nil
	}
	f.Frozen, f.Reason, f.Fence, f.Released = true, r.Why, r.Latest, false
	f.strikes++
	f.Operator = f.Operator || r.Operator || f.strikes >= freezeStrikes
	f.Until = now + freezeFirst<<min(f.strikes-1, freezeStrikes)
	f.Since = clock.Kept(now)
	return &collection.FreezeInfo{Frozen: true, Reason: r.Why, Until: f.Ends(clock)}
}

// Ends returns when one test request may go out; the zero time if only an
// operator releases it.
func (f *Freeze) Ends(clock *timeline.Timeline) time.Time {
	if f.Operator {
		return time.Time{}
	}
	return clock.When(f.Until)
}

// A KeptFreeze is the saved form of a freeze.
type KeptFreeze struct {
	Operator bool      `json:"operator,omitempty"`
	Strikes  int       `json:"strikes"`
	Until    time.Time `json:"until,omitzero"`
	Reason   string    `json:"reason"`
	Note     string    `json:"note,omitempty"`
	Since    time.Time `json:"since,omitzero"` // which tells one from the next
	Released bool      `json:"released,omitempty"`
}

// same reports whether k is l: since the same refusal or order, or none.
func (k *KeptFreeze) same(l *KeptFreeze) bool {
	return k == l || k != nil && l != nil && times.Same(k.Since, l.Since) && k.Note == l.Note && k.Released == l.Released
}

// Weaker reports whether k ends before l does, or is none.
func (k *KeptFreeze) Weaker(l *KeptFreeze) bool {
	return k == nil || !k.Operator && (l.Operator || l.Until.After(k.Until))
}

// Release returns k as an operator releases it at now: one test request may go out.
func (k *KeptFreeze) Release(now time.Time) *KeptFreeze {
	released := *k
	released.Operator, released.Released, released.Until = false, true, now
	return &released
}

// releases reports whether k is an order to let a test request out.
func (k *KeptFreeze) releases() bool { return k == nil || k.Released }

// Keep returns f as it is saved; nil if nothing is frozen.
func (f *Freeze) Keep(clock *timeline.Timeline) *KeptFreeze {
	if !f.Frozen {
		return nil
	}
	return &KeptFreeze{f.Operator, f.strikes, timeline.Saved(f.Ends(clock)), f.Reason, f.Note, f.Since, f.Released}
}

// NewFreeze returns a freeze that goes on from k: none for nil.
func NewFreeze(k *KeptFreeze, clock *timeline.Timeline) Freeze {
	if k == nil {
		return Freeze{}
	}
	return Freeze{Frozen: true, Operator: k.Operator, strikes: max(1, k.Strikes), Until: clock.Of(k.Until),
		Reason: k.Reason, Note: k.Note, Since: k.Since, Released: k.Released}
}

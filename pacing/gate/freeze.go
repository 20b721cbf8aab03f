package gate

import (
	"time"

	"collect/collection"
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

// A freeze stops all calls to a provider that refuses the account:
//
//	         403, unexplained              until
//	thawed ───────────────────→ frozen ───────────────→ one test request
//	  ↑                            ↑                        │     │
//	  │                            └── 403: twice as long ──┘     │
//	  └──────────────── answered, or an operator ─────────────────┘
type freeze struct {
	frozen   bool
	operator bool       // only an operator releases it
	strikes  int        // refusals in a row
	until    law.Moment // if no operator is needed
	reason   string
	note     string    // the operator's own words, if an operator froze it
	since    time.Time // when the latest refusal, or the operator, froze it
	testing  bool      // the test request is in flight
	fence    uint64    // the id of the latest request sent before the freeze
}

// blocks reports whether no request may leave at now, not even a test.
func (f *freeze) blocks(now law.Moment) bool {
	return f.frozen && (f.operator || now < f.until)
}

// onSend notes that an attempt leaves, and returns whether it is the test.
func (f *freeze) onSend() bool {
	f.testing = f.frozen
	return f.frozen
}

// onResult records the end of an attempt: of the test, or one that tells of a
// refusal.
func (f *freeze) onResult(l *flight, o *Outcome, sent uint64, clock *timeline.Timeline, now law.Moment) *collection.FreezeInfo {
	if l.test {
		f.testing = false
	}
	switch {
	case o.Refused != "":
		return f.freeze(l.id, o, sent, clock, now)
	case l.test && f.frozen && (o.Signal == law.Succeeded || o.Signal == law.Answered):
		*f = freeze{fence: f.fence}
		return &collection.FreezeInfo{Reason: "test_request_answered"}
	}
	return nil
}

// freeze begins a freeze, or makes it longer. A refusal of a request that left
// before the freeze began is the same refusal again.
func (f *freeze) freeze(id uint64, o *Outcome, sent uint64, clock *timeline.Timeline, now law.Moment) *collection.FreezeInfo {
	if f.frozen && id <= f.fence && (f.operator || !o.Operator) {
		return nil
	}
	f.frozen, f.reason, f.fence = true, o.Refused, sent
	f.strikes++
	f.operator = f.operator || o.Operator || f.strikes >= freezeStrikes
	f.until = now + freezeFirst<<min(f.strikes-1, freezeStrikes)
	f.since = clock.Kept(now)
	return &collection.FreezeInfo{Frozen: true, Reason: o.Refused, Until: f.ends(clock)}
}

// ends returns when one test request may go out; the zero time if only an
// operator releases it.
func (f *freeze) ends(clock *timeline.Timeline) time.Time {
	if f.operator {
		return time.Time{}
	}
	return clock.When(f.until)
}

// A keptFreeze is the saved form of a freeze.
type keptFreeze struct {
	Operator bool      `json:"operator,omitempty"`
	Strikes  int       `json:"strikes"`
	Until    time.Time `json:"until,omitzero"`
	Reason   string    `json:"reason"`
	Note     string    `json:"note,omitempty"`
	Since    time.Time `json:"since,omitzero"` // which tells one from the next
}

// same reports whether k is l: since the same refusal or order, or none.
func (k *keptFreeze) same(l *keptFreeze) bool {
	return k == l || k != nil && l != nil && k.Since.Equal(l.Since)
}

// weaker reports whether k ends before l does, or is none.
func (k *keptFreeze) weaker(l *keptFreeze) bool {
	return k == nil || !k.Operator && (l.Operator || l.Until.After(k.Until))
}

func (f *freeze) snapshot(clock *timeline.Timeline) *keptFreeze {
	if !f.frozen {
		return nil
	}
	return &keptFreeze{f.operator, f.strikes, timeline.Saved(f.ends(clock)), f.reason, f.note, f.since}
}

func (f *freeze) restore(k *keptFreeze, clock *timeline.Timeline) {
	if k == nil {
		return
	}
	*f = freeze{frozen: true, operator: k.Operator, strikes: max(1, k.Strikes), until: clock.Of(k.Until),
		reason: k.Reason, note: k.Note, since: k.Since}
}

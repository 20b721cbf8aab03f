package collection

import "time"

// An EventKind names what happened.
type EventKind string

// The events, version 1. Names and fields are a contract: within a version
// they are only ever added to.
const (
	RunStarted        EventKind = "run.started"
	Progress          EventKind = "progress"
	SliceCommitted    EventKind = "slice.committed"
	RateChanged       EventKind = "rate.changed"
	Throttled         EventKind = "throttled"
	WaitStarted       EventKind = "wait.started"
	WaitEnded         EventKind = "wait.ended"
	BreakerChanged    EventKind = "breaker.changed"
	FreezeChanged     EventKind = "freeze.changed"
	ClampChanged      EventKind = "clamp.changed"
	RouteChanged      EventKind = "route.changed" // a stream gets a pace of its own, or loses it
	GapOpened         EventKind = "gap.opened"
	GapClosed         EventKind = "gap.closed"
	GapRevived        EventKind = "gap.revived" // by a person: runs try it again
	GapWaived         EventKind = "gap.waived"  // by a person: it is owed no more
	LeaseTaken        EventKind = "lease.taken"
	SchemaAccepted    EventKind = "schema.accepted" // by a person: fields are what they were not before
	CheckpointReset   EventKind = "checkpoint.reset"
	HistoryPruned     EventKind = "history.pruned" // by a person: old events, runs or rejected records are gone
	StoreRestored     EventKind = "store.restored"
	BudgetOrdered     EventKind = "budget.ordered"     // by a person: less may be used of an account, or again what its files allow
	ConnectorPaused   EventKind = "connector.paused"   // by a person: no run of it begins
	ConnectorUnpaused EventKind = "connector.unpaused" // by a person: its runs begin again
	BudgetExhausted   EventKind = "budget.exhausted"
	LimitLearned      EventKind = "limit.learned" // the provider announces a limit, told once
	LimitLow          EventKind = "limit.low"     // little is left of an announced limit
	WarningRaised     EventKind = "warning"
	ErrorRaised       EventKind = "error"
	RunFinished       EventKind = "run.finished"
	AllFinished       EventKind = "all.finished" // of several connectors that one command collected; never stored
)

// The events of single requests. There are as many as requests, so they are
// told only to who asks for a trace, and never stored.
const (
	RequestStarted   EventKind = "request.started"
	SlotAcquired     EventKind = "slot.acquired" // an attempt may leave
	SlotReleased     EventKind = "slot.released" // it has ended
	RequestRetrying  EventKind = "request.retrying"
	RequestCompleted EventKind = "request.completed"
	RequestFailed    EventKind = "request.failed"
)

// An Event is one thing that happened in a run. It carries no secrets, URLs,
// cursors, keys of records or bodies. The field that belongs to its kind is
// set, the others are nil.
type Event struct {
	Time      time.Time
	Kind      EventKind
	Run       string
	Connector string
	Provider  string
	Account   string `json:",omitempty"` // of several: where its credential came from, such as "env ACME_TOKEN"
	Stream    string
	Partition Partition // for people's eyes only: not part of the JSON form
	Lane      Lane

	Slice    *SliceInfo    `json:",omitempty"`
	Rate     *RateInfo     `json:",omitempty"`
	Throttle *ThrottleInfo `json:",omitempty"`
	Wait     *WaitInfo     `json:",omitempty"`
	Breaker  *BreakerInfo  `json:",omitempty"`
	Freeze   *FreezeInfo   `json:",omitempty"`
	Clamp    *ClampInfo    `json:",omitempty"`
	Route    *RouteInfo    `json:",omitempty"`
	Gap      *GapInfo      `json:",omitempty"`
	Budget   *BudgetInfo   `json:",omitempty"`
	Ceiling  *CeilingInfo  `json:",omitempty"`
	Limit    *LimitInfo    `json:",omitempty"`
	Request  *RequestInfo  `json:",omitempty"`
	Pruned   *PrunedInfo   `json:",omitempty"`
	Metrics  *Metrics      `json:",omitempty"` // of a run, so far or in the end
	Message  string        `json:",omitempty"` // for warning and error
	Code     WarningCode   `json:",omitempty"` // for warning: what kind; "" for one that has no code
}

// SliceInfo describes a committed slice.
type SliceInfo struct {
	Commit   int64 `json:"commit"`
	Records  int   `json:"records"`  // delivered
	Changed  int   `json:"changed"`  // new, or different from what was stored
	Rejected int   `json:"rejected"` // put in quarantine
	Older    int   `json:"older"`    // not stored, because a later version is
	Deleted  int   `json:"deleted"`  // marked as deleted
	Done     bool  `json:"done"`     // the walk of its place reached its end
}

// PrunedInfo describes what was removed of the past, and what the runs among it add
// up to.
type PrunedInfo struct {
	Events      int64 `json:"events"`
	Runs        int64 `json:"runs"`
	Slices      int64 `json:"slices"`
	Quarantined int64 `json:"quarantined"`
	Bytes       int64 `json:"bytes"`
	Tally       Tally `json:"tally"`
}

// RateInfo describes the pace with one provider.
type RateInfo struct {
	Learned  float64  `json:"learned_per_second"`
	Previous float64  `json:"previous_per_second"`
	Ceiling  *float64 `json:"ceiling_per_second"` // nil: none declared
	Reason   string   `json:"reason"`
	Binds    string   `json:"binds,omitempty"` // the strictest of what limits it then, by the names of gate.Constraint

	Route string `json:"route,omitempty"` // of several, that the paces are of; "": of all together

	LastBackoff *BackoffInfo `json:"last_backoff,omitempty"` // in this run; nil: there was none
}

// BackoffInfo describes the last time that the pace was lowered.
type BackoffInfo struct {
	Reason string  `json:"reason"`
	At     float64 `json:"at_per_second"` // the pace that was too fast
}

// ThrottleInfo describes what a provider said when it asked for less.
type ThrottleInfo struct {
	Signal     string   `json:"signal"` // the status, or slow
	RetryAfter *float64 `json:"retry_after_seconds"`
}

// A WaitCause names the strictest of the reasons to wait.
type WaitCause string

// The causes of a wait.
const (
	WaitPacing     WaitCause = "pacing"
	WaitWindow     WaitCause = "ceiling"
	WaitRetryAfter WaitCause = "retry_after"
	WaitBackoff    WaitCause = "backoff"
	WaitBreaker    WaitCause = "breaker"
	WaitReserve    WaitCause = "reserve" // nothing is left of a limit, or only the share for people
)

// WaitInfo describes a wait before an attempt.
type WaitInfo struct {
	Cause   WaitCause `json:"cause"`
	Seconds float64   `json:"seconds"`
	Until   time.Time `json:"until"`
}

// BreakerInfo describes a transition of a provider's circuit breaker.
type BreakerInfo struct {
	Previous string `json:"previous_state"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Trigger  string `json:"trigger"`
	Detail   string `json:"detail,omitempty"` // what opened it, for people: without secrets

	ElapsedSeconds  float64 `json:"elapsed_seconds"`
	Requests        int     `json:"request_count"`
	RetryTokensLeft float64 `json:"retry_tokens_remaining"`
}

// FreezeInfo describes a freeze of a provider, or the end of one.
type FreezeInfo struct {
	Frozen bool      `json:"frozen"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"` // when one test request may go out; zero: only an operator releases it
}

// ClampInfo describes a move of the strictest ceiling, which is lowered while
// too much is refused under it.
type ClampInfo struct {
	Previous float64 `json:"previous_ratio"` // of the ceiling
	Ratio    float64 `json:"ratio"`
	Ceiling  float64 `json:"ceiling_per_second"` // that is in force
	Burn     float64 `json:"burn_ratio"`         // the share of attempts that began an episode of refusals
	Reason   string  `json:"reason"`
}

// RouteInfo describes a change of the route of a stream that no one declared: its
// refusals told that the provider counts it apart.
type RouteInfo struct {
	Stream string     `json:"stream"`
	State  RouteState `json:"state"`
}

// A RouteState says what became of a route.
type RouteState string

// The states of a route.
const (
	RouteTried   RouteState = "tried"    // the stream has a pace of its own, on trial
	RouteKept    RouteState = "kept"     // all streams together are faster for it
	RouteGivenUp RouteState = "given_up" // they are not, or its refusals are those of the others: one pace again
)

// GapInfo describes a gap.
type GapInfo struct {
	ID       int64  `json:"id"`
	Shape    Shape  `json:"shape"`
	Reason   Reason `json:"reason"`
	Kind     Kind   `json:"kind"`
	Attempts int    `json:"attempts"`
	Held     int    `json:"held,omitempty"` // records that went to quarantine with it
}

// BudgetInfo describes a budget that ended a run.
type BudgetInfo struct {
	Axis  Reason  `json:"axis"`
	Limit float64 `json:"limit"`
}

// CeilingInfo describes a change of what operators allow of a ceiling.
type CeilingInfo struct {
	Window   float64   `json:"window_seconds"`
	Previous *float64  `json:"previous_count"` // that operators allowed in it before; nil: all that is declared
	Count    *float64  `json:"count"`          // that they allow now; nil: all that is declared
	Until    time.Time `json:"until,omitzero"` // when that ends by itself; zero: a person ends it
}

// LimitInfo describes a limit that a provider announces in its headers.
type LimitInfo struct {
	Name      string   `json:"name"`  // the provider's own; "" if it has none
	Unit      string   `json:"unit"`  // requests, or what else is counted
	Limit     float64  `json:"limit"` // in one window
	Remaining float64  `json:"remaining"`
	Ratio     float64  `json:"remaining_ratio"`
	Window    *float64 `json:"window_seconds"` // nil: not said
	Reset     *float64 `json:"reset_seconds"`  // until there is more; nil: not said
}

// RequestInfo describes a moment in the life of one request.
type RequestInfo struct {
	ID         int64    `json:"request_id"` // counted from 1 in the run
	Attempt    int      `json:"attempt"`
	QueueDepth int      `json:"queue_depth"` // attempts that wait to leave
	Delay      *float64 `json:"delay_seconds,omitempty"`
	Reason     string   `json:"reason,omitempty"` // of a retry: ratelimit or error; of a failure: the stop's
	Latency    *float64 `json:"latency_seconds,omitempty"`
}

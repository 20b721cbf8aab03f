package collection

import "time"

// Metrics says how the requests of a run fare in one pacing domain. Latencies
// are those of the latest 100 attempts, from sending to the end of the body.
//
// A request is what a connector asks for, however many attempts it takes: of
// those that were asked for, TotalRequests, some are completed, some failed,
// and the rest is under way.
type Metrics struct {
	TotalRequests     int64   `json:"total_requests"`
	CompletedRequests int64   `json:"completed_requests"` // had an answer for the connector
	FailedRequests    int64   `json:"failed_requests"`    // ended without one, refusals and stops included
	RateLimitHits     int64   `json:"rate_limit_hits"`    // throttle signals
	RetriedRequests   int64   `json:"retried_requests"`   // attempts after the first
	ActiveRequests    int     `json:"active_requests"`    // attempts in flight now
	MaxConcurrency    int     `json:"max_concurrency"`    // attempts that may be in flight at once
	QueueDepth        int     `json:"queue_depth"`        // attempts that wait to leave now
	AvgLatency        float64 `json:"avg_latency_seconds"`
	P50Latency        float64 `json:"p50_latency_seconds"`
	P99Latency        float64 `json:"p99_latency_seconds"`

	Wait *WaitInfo `json:"wait,omitempty"` // under way at that moment; nil: none that is worth telling

	Limits *RunLimits `json:"limits,omitempty"` // while the run is at work; nil: not known

	// Broke is the code of the error that ended the run (E0719); "": it came to its end, or a stop
	// ended it.
	Broke string `json:"broke,omitempty"`

	// BrokeBy is that error in a sentence, as people were told it: no secret is in it. "" if only the
	// code is known.
	BrokeBy string `json:"broke_by,omitempty"`

	Traffic *Traffic `json:"-"` // of the run so far, for the store to add to that of the runs before it; nil: not known
}

// RunLimits are what ends a run, whatever it has done by then.
type RunLimits struct {
	MaxRequests int64     `json:"max_requests,omitempty"` // 0: none
	Until       time.Time `json:"until,omitzero"`         // zero: none
}

package cmd

import (
	"context"
	"slices"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/store"
)

// endEvents is how many of the newest events are looked at for how the newest
// run fares: what an operator does later is among them, and the commits since
// its last sign of life, seconds ago.
const endEvents = 1000

// metricsOf returns how the requests of the newest run of a connector fare, as
// of its last sign of life; the zero value if there was none yet.
func metricsOf(ctx context.Context, db store.Reader, run collection.Run) (collection.Metrics, error) {
	events, err := db.Events(ctx, run.Connector, endEvents)
	for _, e := range slices.Backward(events) {
		if e.Run == run.ID && e.Metrics != nil {
			return *e.Metrics, err
		}
	}
	return collection.Metrics{}, err
}

// An accountMetrics says which account the metrics are of.
type accountMetrics struct {
	Key string `json:"rate_limit_key"` // the pacing domain: provider, and account by a salted hash
	*metricsLine
}

// accountMetricsOf returns nil for a run that asked for nothing, as far as is
// known.
func accountMetricsOf(run collection.Run) *accountMetrics {
	line := metricsLineOf(run.Metrics)
	if line == nil {
		return nil
	}
	return &accountMetrics{run.Domain, line}
}

// metricsLine is how the requests of a run fare, in JSON. What was not
// measured is null.
type metricsLine struct {
	Total      int64    `json:"total_requests"`
	Completed  int64    `json:"completed_requests"`
	Failed     int64    `json:"failed_requests"`
	Hits       int64    `json:"rate_limit_hits"`
	Retried    int64    `json:"retried_requests"`
	Active     int      `json:"active_requests"`
	Concurrent int      `json:"max_concurrency"`
	Queued     int      `json:"queue_depth"`
	Avg        *float64 `json:"avg_latency_seconds"`
	P50        *float64 `json:"p50_latency_seconds"`
	P99        *float64 `json:"p99_latency_seconds"`
}

// metricsLineOf returns nil for a run that asked for nothing.
func metricsLineOf(m collection.Metrics) *metricsLine {
	if m.TotalRequests == 0 {
		return nil
	}
	return &metricsLine{
		m.TotalRequests, m.CompletedRequests, m.FailedRequests, m.RateLimitHits, m.RetriedRequests,
		m.ActiveRequests, m.MaxConcurrency, m.QueueDepth, jsonout.OrNull(m.AvgLatency), jsonout.OrNull(m.P50Latency), jsonout.OrNull(m.P99Latency),
	}
}

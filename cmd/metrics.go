package cmd

import "collect/collection"

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
		m.ActiveRequests, m.MaxConcurrency, m.QueueDepth, orNull(m.AvgLatency), orNull(m.P50Latency), orNull(m.P99Latency),
	}
}

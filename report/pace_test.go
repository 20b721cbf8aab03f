package report_test

import (
	"encoding/json"
	"testing"

	"collect/collection"
	"collect/internal/texttest"
	"collect/report"
)

// What was not measured is null, never 0: a run that asked for nothing, and one
// that is still waiting for its first answer.
func TestMetricsOf(t *testing.T) {
	for _, test := range []struct {
		name string
		m    collection.Metrics
		want string
	}{
		{"nothing", collection.Metrics{MaxConcurrency: 1}, `null`},
		{"begun", collection.Metrics{TotalRequests: 1, MaxConcurrency: 2, QueueDepth: 1},
			`{"total_requests":1,"completed_requests":0,"failed_requests":0,"rate_limit_hits":0,"retried_requests":0,` +
				`"active_requests":0,"max_concurrency":2,"queue_depth":1,` +
				`"avg_latency_seconds":null,"p50_latency_seconds":null,"p99_latency_seconds":null}`},
		{"under way", collection.Metrics{
			TotalRequests: 9, CompletedRequests: 5, FailedRequests: 1, RateLimitHits: 2, RetriedRequests: 3,
			ActiveRequests: 1, MaxConcurrency: 4, QueueDepth: 2, AvgLatency: 0.25, P50Latency: 0.2, P99Latency: 1.5},
			`{"total_requests":9,"completed_requests":5,"failed_requests":1,"rate_limit_hits":2,"retried_requests":3,` +
				`"active_requests":1,"max_concurrency":4,"queue_depth":2,` +
				`"avg_latency_seconds":0.25,"p50_latency_seconds":0.2,"p99_latency_seconds":1.5}`},
	} {
		got, err := json.Marshal(report.MetricsOf(test.m))
		if err != nil {
			t.Fatal(err)
		}
		texttest.Same(t, test.name, string(got), test.want)
	}
}

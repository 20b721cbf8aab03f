package report

import (
	"collect/collection"
	"collect/store"
)

// Measured is how a connector stands, and what is counted over all of its runs.
type Measured struct {
	Status
	store.Measures
}

// An accountMetrics says which account the metrics are of.
type accountMetrics struct {
	Key string `json:"rate_limit_key"` // the pacing domain: provider, and account by a salted hash
	*Metrics
}

// accountMetricsOf returns nil for a run that asked for nothing, as far as is
// known.
func accountMetricsOf(run collection.Run) *accountMetrics {
	line := MetricsOf(run.Metrics)
	if line == nil {
		return nil
	}
	return &accountMetrics{run.Domain, line}
}

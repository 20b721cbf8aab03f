package report

import (
	"context"
	"slices"

	"collect/collection"
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

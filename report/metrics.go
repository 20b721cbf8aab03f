package report

import (
	"context"
	"time"

	"collect/collection"
	"collect/report/problem"
	"collect/store"
)

// Measured is what is counted of one connector, over all of its runs, beside how it
// stands.
type Measured struct {
	Status
	Traffic   collection.Traffic
	SuccessAt time.Time // when a run ended last with exit code 0; zero: not known
}

// MeasuredOf reads what is counted of the connector of s.
func MeasuredOf(ctx context.Context, db store.Reader, s Status) (m Measured, err error) {
	m.Status = s
	if m.Traffic, err = db.Traffic(ctx, s.Name); err != nil {
		return m, err
	}
	for _, n := range []int{1, 100} {
		runs, err := db.Runs(ctx, s.Name, n)
		if err != nil {
			return m, err
		}
		for _, run := range runs {
			if run.ExitCode == problem.ExitOK {
				m.SuccessAt = run.EndedAt
				return m, nil
			}
		}
	}
	return m, nil
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

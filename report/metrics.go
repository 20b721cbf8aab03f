package report

import (
	"context"
	"slices"
	"time"

	"collect/collection"
	"collect/report/problem"
	"collect/store"
)

// endEvents is how many of the newest events are looked at for how the newest
// run fares: what an operator does later is among them, and the commits since
// its last sign of life, seconds ago.
const endEvents = 1000

// nearEvents is how many are looked at first: mostly that is enough.
const nearEvents = 16

// metricsOf returns how the requests of the newest run of a connector fare, as
// of its last sign of life; the zero value if there was none yet.
func metricsOf(ctx context.Context, db store.Reader, run collection.Run) (collection.Metrics, error) {
	for _, n := range []int{nearEvents, endEvents} {
		events, err := db.Events(ctx, run.Connector, n)
		if err != nil {
			return collection.Metrics{}, err
		}
		for _, e := range slices.Backward(events) {
			if e.Run == run.ID && e.Metrics != nil {
				return *e.Metrics, nil
			}
		}
		if len(events) < n {
			break
		}
	}
	return collection.Metrics{}, nil
}

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

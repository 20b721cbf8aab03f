// Package telemetry tells monitoring systems what is so: metrics in the formats of
// Prometheus, and traces by OpenTelemetry.
//
// # Metrics
//
// All metrics come from the store, at the moment of a scrape: [Handler] serves them,
// and [WriteFile] writes the same to a file. Nothing is counted in a process, so that
// counters go on over runs and restarts, and mean the same in both places. A run adds
// to the counts in the store every few seconds. Looking changes nothing.
//
// What is not known is absent, and never 0. Labels are connectors, providers, and words
// of closed sets, so that the series are bounded: at most [MostConnectors] connectors
// are shown.
package telemetry

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"collect/engine"
	"collect/internal/freespace"
	"collect/report"
	"collect/store"
)

// MostConnectors bounds the connectors whose metrics are shown: the first by name. How
// many are left out is a metric, too.
const MostConnectors = 1000

// Facts are what metrics tell of, as of one moment.
type Facts struct {
	At         time.Time
	Connectors []report.Measured // sorted by name
	All        int               // connectors in the store
	StoreBytes int64             // that the database takes on the disk; 0: not known
	FreeBytes  int64             // that may still be written to its disk; -1: not known
}

// Look reads the facts of a store. file is where it is, "" for one that is not a file,
// and db is nil for one that does not exist yet.
func Look(ctx context.Context, db store.Reader, meeting engine.Meeting, file string, now time.Time) (f Facts, err error) {
	f = Facts{At: now, FreeBytes: -1}
	if file != "" {
		for _, name := range []string{file, file + "-wal"} {
			if info, err := os.Stat(name); err == nil {
				f.StoreBytes += info.Size()
			}
		}
		if free, err := freespace.Of(filepath.Dir(file)); err == nil {
			f.FreeBytes = free
		}
	}
	if db == nil {
		return f, nil
	}
	statuses, err := meeting.Statuses(ctx, db, "", now)
	if err != nil {
		return f, err
	}
	measures, err := db.Measures(ctx, "")
	if err != nil {
		return f, err
	}
	f.All = len(statuses)
	for _, s := range statuses[:min(f.All, MostConnectors)] {
		f.Connectors = append(f.Connectors, report.Measured{Status: s, Measures: measures[s.Name]})
	}
	return f, nil
}

// A Config says what [Handler] serves.
type Config struct {
	Look    func(ctx context.Context) (Facts, error) // called for each scrape
	Version string                                   // of this program
}

// Handler serves metrics, in the format that the client asks for: as text, as
// OpenMetrics, which has exemplars, or as protocol buffers, which have native
// histograms, too. If the facts cannot be read, it tells that and nothing else.
func Handler(c Config) http.Handler {
	turn := make(chan struct{}, 1) // one scrape at a time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-r.Context().Done():
			return
		}
		facts, err := c.Look(r.Context())
		registry := prometheus.NewRegistry()
		registry.MustRegister(collector{facts: facts, readable: err == nil, live: true, version: c.Version})
		families, err := registry.Gather()
		if err != nil { // which is our fault: the error may have a stack
			http.Error(w, "the metrics cannot be told: a bug of collect", http.StatusInternalServerError)
			return
		}
		told := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, nil })
		promhttp.HandlerFor(told, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	})
}

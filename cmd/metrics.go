package cmd

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"collect/cmd/internal/config"
	"collect/console/telemetry"
	"collect/engine/storage"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// addMetricsFile adds the flag that names the file for metrics.
func addMetricsFile(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, "metrics-file", "", "write metrics of all connectors, every 15 s and at the end, to this `file` for the textfile collector of Prometheus, whose name ends in .prom (default: COLLECT_METRICS_FILE)")
}

// metricsEvery is how often the file with metrics is written: as often as Prometheus
// scrapes where nothing else is said. What takes long is done seldom: at most a
// twentieth of the time goes into it.
const (
	metricsEvery = 15 * time.Second
	metricsShare = 20
)

// metricsFile writes metrics of the store to a file as long as a run goes on, and once
// more when end is called; nothing where no file is named. A file that cannot be
// written is an error now, and a warning later.
func (a *app) metricsFile(ctx context.Context, path string, db store.Store, settings config.Settings) (end func(), err error) {
	if path = cmp.Or(path, a.env("COLLECT_METRICS_FILE")); path == "" {
		return func() {}, nil
	}
	ctx = context.WithoutCancel(ctx)
	version, _, _ := build()
	write := func() error {
		facts, err := a.lookAtMetrics(ctx, db, settings)
		if err != nil {
			return err
		}
		return telemetry.WriteFile(path, facts, version)
	}
	if err := write(); err != nil {
		return nil, &problem.OutputError{Err: err}
	}
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		wait := metricsEvery
		for {
			select {
			case <-stop:
				return
			case <-time.After(wait):
			}
			began := time.Now()
			_ = write() // the last one tells
			wait = max(metricsEvery, metricsShare*time.Since(began))
		}
	})
	return func() {
		close(stop)
		writing.Wait()
		if err := write(); err != nil {
			fmt.Fprintf(a.err, "warning: the metrics in %s are old: %s; the run itself is not affected\n",
				words.Clean(words.Home(path, a.env)), words.Clean(problem.PlainText(err)))
		}
	}, nil
}

// lookAtMetrics reads what metrics tell of a store, which may be nil.
func (a *app) lookAtMetrics(ctx context.Context, db store.Reader, settings config.Settings) (telemetry.Facts, error) {
	file := ""
	if storage.IsFile(settings.State) {
		file = settings.State
	}
	return telemetry.Look(ctx, db, a.meeting(&settings), file, time.Now())
}

// metricsHandler serves metrics of the store, which is opened for each scrape: it may
// be replaced, or be made only later.
func (a *app) metricsHandler(settings config.Settings) http.Handler {
	version, _, _ := build()
	return telemetry.Handler(telemetry.Config{Version: version, Look: func(ctx context.Context) (telemetry.Facts, error) {
		db, err := openForReading(ctx, settings)
		if err != nil || db == nil {
			return telemetry.Facts{FreeBytes: -1}, err
		}
		defer db.Close()
		return a.lookAtMetrics(ctx, db, settings)
	}})
}

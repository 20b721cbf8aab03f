package cmd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/pflag"

	"collect/cmd/internal/live"
	"collect/collection"
	"collect/console/telemetry"
	"collect/engine"
	"collect/internal/words"
	"collect/report/problem"
)

// addTraces adds the flag that names where traces are sent.
func addTraces(flags *pflag.FlagSet, endpoint *string) {
	flags.StringVar(endpoint, "traces", "", "send traces to this OTLP `address`, such as http://127.0.0.1:4318: one in ten, and each that failed or took over 1 s (default: COLLECT_TRACES, or else none)")
}

// A record is what is kept of the events of runs beside the display: traces, and lines of
// the log with the ids of their spans.
type record struct {
	log    live.Log
	traces *telemetry.Traces // nil: there is nothing to keep
	sent   bool              // the traces
}

// record returns what is kept of runs by the flags and the environment. What ends it
// sends the rest of the traces, and says what could not be sent.
func (a *app) record(ctx context.Context, h *audience, endpoint string) (r *record, end func(), err error) {
	r = &record{log: h.log}
	if endpoint = cmp.Or(endpoint, a.env("COLLECT_TRACES")); endpoint == "" {
		if r.log.Logger.Enabled(ctx, slog.LevelError) {
			r.traces = telemetry.NewIDs()
		}
		return r, func() {}, nil
	}
	version, _, _ := build()
	if r.traces, err = telemetry.NewTraces(endpoint, version); err != nil {
		return nil, nil, problem.Usage("--traces: %q %s", endpoint, err)
	}
	r.sent = true
	return r, func() {
		if lost := r.traces.Close(context.WithoutCancel(ctx)); lost > 0 {
			fmt.Fprintf(a.err, "warning: %s of traces could not be sent to --traces; the run itself is not affected\n", words.Counted(lost, "span", "spans"))
		}
	}, nil
}

// prepare has a run tell what is kept of it.
func (r *record) prepare(c *engine.Config) {
	c.Options.Trace = c.Options.Trace || r.traces != nil
	if r.sent {
		c.Exemplars = r.traces.Exemplars
	}
}

// observe hears of an event of a run.
func (r *record) observe(e collection.Event) {
	if r.traces != nil {
		ids := r.traces.Observe(e)
		r.log.Observe(e, ids.Trace, ids.Span)
	}
}

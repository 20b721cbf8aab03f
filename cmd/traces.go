package cmd

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"collect/console/telemetry"
	"collect/internal/words"
	"collect/report/problem"
)

// addTraces adds the flag that names where traces are sent.
func addTraces(flags *pflag.FlagSet, endpoint *string) {
	flags.StringVar(endpoint, "traces", "", "send traces to this OTLP `address`, such as http://127.0.0.1:4318: one in ten, and each that failed or took over 1 s (default: COLLECT_TRACES, or else none)")
}

// traces starts sending traces. It returns nil, and sets nothing up, where none are
// asked for. What ends it sends the rest, and says what could not be sent.
func (a *app) traces(ctx context.Context, endpoint string) (traces *telemetry.Traces, end func(), err error) {
	if endpoint = cmp.Or(endpoint, a.env("COLLECT_TRACES")); endpoint == "" {
		return nil, func() {}, nil
	}
	version, _, _ := build()
	if traces, err = telemetry.NewTraces(endpoint, version); err != nil {
		return nil, nil, problem.Usage("--traces: %q %s", endpoint, err)
	}
	return traces, func() {
		if lost := traces.Close(context.WithoutCancel(ctx)); lost > 0 {
			fmt.Fprintf(a.err, "warning: %s of traces could not be sent to --traces; the run itself is not affected\n", words.Counted(lost, "span", "spans"))
		}
	}, nil
}

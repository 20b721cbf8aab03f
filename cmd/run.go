package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"collect/cmd/internal/config"
	"collect/cmd/internal/live"
	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/internal/words"
	"collect/report/problem"
	"collect/store"
)

// runOptions are the flags of run and resume.
type runOptions struct {
	command     string // what was typed: "collect run"
	names       []string
	all         bool
	params      []string
	streams     []string
	lane        string
	oneLane     bool
	maxRequests int64
	maxTime     time.Duration
	concurrency int
	quiet       int
	wait        time.Duration
	strict      bool
	create      bool
	newParams   bool
	trace       bool
	traceHTTP   string
	metrics     string // the file for them
	traces      string // where they are sent
	progress    string
	mode        collection.Mode
	unheard     bool // only stderr tells of it: no message is sent
}

func (o *runOptions) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&o.all, "all", false, "collect with all connectors that collect.yaml names")
	flags.StringArrayVar(&o.params, "param", nil, "set a parameter of the connector, as `name=value`; repeatable")
	flags.StringArrayVar(&o.streams, "stream", nil, "collect only this `stream`; repeatable")
	flags.StringVar(&o.lane, "lane", string(collection.Incremental), "the `lane` to walk, and no other: incremental or backfill, each with checkpoints of its own (default: incremental, and then a backfill that was begun)")
	flags.Lookup("lane").DefValue = "" // which is said
	flags.Var((*config.CapFlag)(&o.maxRequests), "max-requests", "end as a planned pause after `n` requests, retries included; of several connectors each has n (default none)")
	flags.Var((*config.DurationFlag)(&o.maxTime), "max-time", "end as a planned pause after this `duration` (90s, 30m, 2h, 7d); a request in flight is finished first; several connectors end together (default none)")
	flags.IntVar(&o.concurrency, "concurrency", 0, "at most `n` requests in flight at once (default: what the pace needs, up to 8)")
	countVar(flags, &o.quiet, "quiet", "q", "print nothing unless it needs you; -qq says the same problem once, then once a day, and that it is over")
	flags.Var((*config.DurationFlag)(&o.wait), "wait", "wait up to this `duration` for another run of the connector to end (default: do not wait)")
	flags.BoolVar(&o.strict, "strict", false, "exit 10 on a planned pause, 11 on warnings, and 76 on a warning that the data may not be all there is")
	flags.BoolVar(&o.create, "create", false, "create the database that --state, COLLECT_STATE or a file names")
	flags.BoolVar(&o.newParams, "new-params", false, "go on with other parameters, or streams, than the last run had")
	flags.BoolVar(&o.trace, "trace", false, "with --json: an event for each step of each request, too")
	addTraceHTTP(flags, &o.traceHTTP)
	addMetricsFile(flags, &o.metrics)
	addTraces(flags, &o.traces)
	flags.StringVar(&o.progress, "progress", "", "how to show progress: auto, live, plain or none (default: `mode` of the configuration, or else auto)")
}

func (a *app) runCommand() *cobra.Command {
	c := a.collectCommand("run", collection.Forward)
	c.Short = "Start or continue collecting"
	c.Long = `Run collects with an entry of collect.yaml, a connector file, or a built-in
connector. It continues what is unfinished and never starts over; "collect
reset" does. Forward work comes first, then the gaps that are due.

Several connectors run side by side, at most 8 at a time; --all takes those
that collect.yaml names. --max-time is for all of them together: they end when
it is up. --max-requests is for each. One that cannot begin keeps none of the
others from running. The exit code is that of the worst.

Ctrl-C finishes and saves the page in flight. A second Ctrl-C stops at once;
the page is fetched again by the next run. Of several connectors, all end.`
	return c
}

func (a *app) resumeCommand() *cobra.Command {
	c := a.collectCommand("resume", collection.Resume)
	c.Short = "Continue: gaps first, then the rest"
	return c
}

func (a *app) collectCommand(name string, mode collection.Mode) *cobra.Command {
	o := runOptions{mode: mode}
	c := &cobra.Command{
		Use:         name + " <name | file.yaml>...",
		Annotations: map[string]string{ownSignals: ""},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && !o.all {
				return exactArgs("<name | file.yaml>")(c, args)
			}
			o.names, o.command, o.oneLane = args, c.CommandPath(), c.Flags().Changed("lane")
			return a.collect(c.Context(), o)
		},
	}
	o.addFlags(c)
	return c
}

// collect runs connectors and returns an *exitError with its code, or nil for 0.
func (a *app) collect(ctx context.Context, o runOptions) error {
	h := a.audience(o)
	log, err := a.logger()
	if err != nil {
		return err
	}
	h.log = live.Log{Logger: log}
	settings, err := a.settings()
	if err == nil {
		h.knows(settings)
		err = a.collectFor(ctx, h, o, settings)
	}
	if err != nil {
		err = h.refuse("", err, problem.Scene{})
	}
	if o.unheard {
		return err
	}
	return h.end(ctx, err)
}

// collectFor runs connectors for an audience. An error that is no *exitError kept all
// of them from beginning, and is still to be told.
func (a *app) collectFor(ctx context.Context, h *audience, o runOptions, settings config.Settings) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	o.maxRequests = config.Stricter(o.maxRequests, settings.MaxRequests)
	o.maxTime = config.Stricter(o.maxTime, settings.MaxTime)
	if o.all {
		if o.names, err = settings.Configured(); err != nil {
			return err
		}
	}
	if len(o.names) > 1 {
		return a.collectSeveral(ctx, h, o, settings)
	}
	return a.collectOne(ctx, h, o, settings)
}

// collectOne runs one connector.
func (a *app) collectOne(ctx context.Context, h *audience, o runOptions, settings config.Settings) error {
	given := o.names[0]
	params, err := parseParams(o.params)
	if err != nil {
		return err
	}
	target, err := settings.Resolve(ctx, given, params)
	if errors.Is(err, store.ErrOlder) || errors.Is(err, store.ErrDoubtful) { // a run mends that, and then the database tells
		target, err = a.resolveMended(ctx, o, settings, params)
	}
	if err != nil {
		return h.refuse(given, err, problem.Scene{})
	}
	sc := problem.Scene{Connector: target.Name, State: settings.State}
	db, err := a.openToCollect(ctx, o, settings)
	if err != nil {
		return h.refuse(given, err, sc)
	}
	defer db.Close()
	requests, end, err := a.traceHTTP(o.traceHTTP, o.quiet > 0 || a.flags.json)
	if err != nil {
		return h.refuse(given, err, sc)
	}
	defer end()
	metricsEnd, err := a.metricsFile(ctx, o.metrics, db, settings)
	if err != nil {
		return a.exit(err, problem.Scene{Connector: target.Name, State: settings.State})
	}
	defer metricsEnd()
	record, recordEnd, err := a.record(ctx, h, o.traces)
	if err != nil {
		return err
	}
	defer recordEnd()

	s := &session{record: record, app: a, audience: h, given: given, options: o, settings: settings, target: target, store: db, requests: requests}
	code, err := s.collect(ctx)
	if err != nil {
		return h.refuse(given, err, s.run.Scene())
	}
	return exitWith(code)
}

// resolveMended finds the connector of one name when the database can tell of it only
// after a run has opened it.
func (a *app) resolveMended(ctx context.Context, o runOptions, settings config.Settings, params map[string]string) (registry.Target, error) {
	db, err := a.openToCollect(ctx, o, settings)
	if err != nil {
		return registry.Target{}, err
	}
	defer db.Close()
	settings.Remembered = engine.Remembered(db)
	return settings.Resolve(ctx, o.names[0], params)
}

// openToCollect opens the database, and says so if it had to be made.
func (a *app) openToCollect(ctx context.Context, o runOptions, settings config.Settings) (store.Store, error) {
	db, created, err := openForRun(ctx, settings, o.create)
	if err != nil {
		return nil, err
	}
	if created && o.quiet == 0 && !a.flags.json {
		fmt.Fprintf(a.err, "collect: made the database %s\n", words.Home(settings.State, a.env))
	}
	return db, nil
}

// exitWith returns the *exitError of a code; nil for 0.
func exitWith(code int) error {
	if code == problem.ExitOK {
		return nil
	}
	return &exitError{code}
}

// check refuses what cannot be meant.
func (o *runOptions) check() error {
	if o.concurrency < 0 || o.concurrency > maxConcurrency {
		return problem.Usage("--concurrency: %d is not between 1 and %d", o.concurrency, maxConcurrency)
	}
	switch {
	case o.all && len(o.names) > 0:
		return problem.Usage("--all is all connectors that collect.yaml names; leave out %s", words.Quoted(o.names[0]))
	case (o.all || len(o.names) > 1) && len(o.params) > 0:
		return problem.Usage("--param is of one connector; of several each has `params:` in collect.yaml")
	case (o.all || len(o.names) > 1) && len(o.streams) > 0:
		return problem.Usage("--stream is of one connector; of several each has `streams:` in collect.yaml")
	}
	return checkLane(o.lane)
}

func checkLane(lane string) error {
	if lane != string(collection.Incremental) && lane != string(collection.Backfill) {
		return problem.Usage("--lane: %q is neither incremental nor backfill", lane)
	}
	return nil
}

// maxConcurrency bounds the requests in flight: more than this is a load test,
// not collecting.
const maxConcurrency = 64

package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
	"collect/store"
)

// runOptions are the flags of run and resume.
type runOptions struct {
	name        string
	params      []string
	streams     []string
	lane        string
	maxRequests int64
	maxTime     time.Duration
	concurrency int
	quiet       int
	wait        time.Duration
	strict      bool
	create      bool
	newParams   bool
	progress    string
	mode        collection.Mode
}

func (o *runOptions) addFlags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringArrayVar(&o.params, "param", nil, "set a parameter of the connector, as `name=value`; repeatable")
	flags.StringArrayVar(&o.streams, "stream", nil, "collect only this `stream`; repeatable")
	flags.StringVar(&o.lane, "lane", string(collection.Incremental), "the `lane` to walk, incremental or backfill: each has checkpoints of its own")
	flags.Int64Var(&o.maxRequests, "max-requests", 0, "end as a planned pause after `n` requests, retries included")
	flags.Var((*durationFlag)(&o.maxTime), "max-time", "end as a planned pause after this `duration` (90s, 30m, 2h, 7d); a request in flight is finished")
	flags.IntVar(&o.concurrency, "concurrency", 0, "at most `n` requests in flight at once (1)")
	flags.CountVarP(&o.quiet, "quiet", "q", "print nothing unless it needs you")
	flags.Var((*durationFlag)(&o.wait), "wait", "wait up to this `duration` for another run of the connector to end")
	flags.BoolVar(&o.strict, "strict", false, "exit 10 on a planned pause and 11 on warnings")
	flags.BoolVar(&o.create, "create", false, "create the database that --state, COLLECT_STATE or a file names")
	flags.BoolVar(&o.newParams, "new-params", false, "go on with other parameters than the last run had")
	flags.StringVar(&o.progress, "progress", "", "how to show `progress`: auto, live, plain or none")
}

func (a *app) runCommand() *cobra.Command {
	o := runOptions{mode: collection.Forward}
	c := &cobra.Command{
		Use:   "run <name | file.yaml>",
		Short: "Start or continue collecting",
		Long: `Run collects with an entry of collect.yaml, a connector file, or a built-in
connector. It continues what is unfinished and never starts over; "collect
reset" does. Forward work comes first, then the gaps that are due.

Ctrl-C finishes and saves the page in flight. A second Ctrl-C stops at once;
the page is fetched again by the next run.`,
		Args: exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.collect(c.Context(), o)
		},
	}
	o.addFlags(c)
	return c
}

func (a *app) resumeCommand() *cobra.Command {
	o := runOptions{mode: collection.Resume}
	c := &cobra.Command{
		Use:   "resume <name | file.yaml>",
		Short: "Continue: gaps first, then the rest",
		Args:  exactArgs("<name | file.yaml>"),
		RunE: func(c *cobra.Command, args []string) error {
			o.name = args[0]
			return a.collect(c.Context(), o)
		},
	}
	o.addFlags(c)
	return c
}

// collect runs one connector and returns an *exitError with its code, or nil
// for 0.
func (a *app) collect(ctx context.Context, o runOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	settings, err := a.settings()
	if err != nil {
		return err
	}
	target, err := a.resolve(settings, o.name, o.params)
	if err != nil {
		return err
	}
	o.maxRequests = stricter(o.maxRequests, settings.MaxRequests)
	o.maxTime = stricter(o.maxTime, settings.MaxTime)
	db, created, err := a.openForWriting(ctx, settings, o.create)
	if err != nil {
		return a.exit(err, scene{Connector: target.name, State: settings.State})
	}
	defer db.Close()

	s := &session{app: a, options: o, settings: settings, target: target, store: db}
	if created && o.quiet == 0 && !a.flags.json {
		fmt.Fprintf(a.err, "collect: made the database %s\n", home(settings.State, a.env))
	}
	code, err := s.run(ctx)
	if err != nil {
		return a.exit(err, s.scene())
	}
	if code != exitOK {
		return &exitError{code}
	}
	return nil
}

// exit reports err and returns the *exitError of its code.
func (a *app) exit(err error, sc scene) error { return &exitError{a.report(err, sc)} }

// check refuses what cannot be meant.
func (o *runOptions) check() error {
	switch {
	case o.lane != string(collection.Incremental) && o.lane != string(collection.Backfill):
		return &usageError{fmt.Sprintf("--lane: %q is neither incremental nor backfill", o.lane)}
	case o.maxRequests < 0:
		return &usageError{"--max-requests: must not be negative"}
	case o.maxTime < 0:
		return &usageError{"--max-time: must not be negative"}
	case o.concurrency < 0 || o.concurrency > maxConcurrency:
		return &usageError{fmt.Sprintf("--concurrency: %d is not between 1 and %d", o.concurrency, maxConcurrency)}
	}
	return nil
}

// maxConcurrency bounds the requests in flight: more than this is a load test,
// not collecting.
const maxConcurrency = 64

// A session is one run of one connector, from the lease to the summary.
type session struct {
	*app
	options  runOptions
	settings settings
	target   target
	store    store.Store

	record collection.Run
	budget *pacing.Budget
	show   *display
	salt   []byte
}

// run takes the lease, works, and ends with the verdict. An error is one that
// kept the run from beginning; what happens later is part of the verdict.
func (s *session) run(ctx context.Context) (code int, err error) {
	if s.salt, err = s.store.Salt(ctx); err != nil {
		return 0, err
	}
	if err := s.sameParams(ctx); err != nil {
		return 0, err
	}
	provider := s.target.connector.Provider()
	domain := pacing.Domain(provider.Name, provider.Credential, s.salt)
	learned, err := s.store.Provider(ctx, domain)
	if err != nil {
		return 0, err
	}
	ledger, err := s.begin(ctx, domain)
	if err != nil {
		return 0, err
	}
	// Whatever happens, the lease is given back; after the verdict this does
	// nothing.
	defer func() { _ = ledger.Finish(context.WithoutCancel(ctx), s.record) }()

	s.budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: s.options.maxRequests, MaxTime: s.options.maxTime})
	if s.show, err = s.newDisplay(ctx); err != nil {
		return 0, err
	}
	defer s.show.close()
	work, err := runner.New(runner.Config{
		Connector: s.target.connector, Ledger: ledger, Run: s.record,
		Streams: s.streams(), Concurrency: s.options.concurrency, Budget: s.budget,
		Domain: domain, Learned: learned, Observe: s.show.observe,
	})
	if err != nil {
		return 0, err
	}
	s.show.watch(work)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	terminated := s.watchSignals(ctx, cancel)
	s.show.observe(collection.Event{Kind: collection.RunStarted, Lane: s.record.Lane})
	done, runErr := work.Do(ctx)
	s.record = done
	return s.finish(context.WithoutCancel(ctx), ledger, work.Stops(), runErr, terminated())
}

// begin takes the lease, waiting for another run as long as --wait allows.
func (s *session) begin(ctx context.Context, domain string) (store.Ledger, error) {
	now := time.Now()
	s.record = collection.Run{
		ID: newRunID(now), Connector: s.target.name, Mode: s.options.mode, Lane: collection.Lane(s.options.lane),
		Params: s.target.params, Domain: domain, Holder: thisProcess(), StartedAt: now,
	}
	for {
		ledger, err := s.store.Begin(ctx, s.record, s.target.connector.Streams())
		if _, held := errors.AsType[*store.HeldError](err); !held || time.Since(now) >= s.options.wait {
			return ledger, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.signals:
			return nil, &collection.Stop{Reason: collection.Interrupted}
		case <-time.After(min(time.Second, s.options.wait)):
		}
	}
}

// finish reads what is owed, ends the run with its verdict and tells it.
func (s *session) finish(ctx context.Context, ledger store.Ledger, stops []runner.Stopped, runErr error, terminated bool) (int, error) {
	owed, err := s.store.Gaps(ctx, s.record.Connector)
	if runErr == nil {
		runErr = err
	}
	end := ending{
		Run: s.record, Owed: owed, Err: runErr, Unreached: s.unreached(stops),
		Terminated: terminated, Strict: s.options.strict,
	}
	s.record.EndedAt = time.Now()
	s.record.Outcome, s.record.ExitCode = verdictCode(end)
	if err := ledger.Finish(ctx, s.record); err != nil && end.Err == nil {
		end.Err, runErr = err, err
		s.record.Outcome, s.record.ExitCode = verdictCode(end)
	}
	return s.record.ExitCode, s.conclude(ctx, owed, stops, runErr)
}

// unreached reports whether no request of the run got as far as an answer.
func (s *session) unreached(stops []runner.Stopped) bool {
	return s.record.Tally.Slices == 0 && slices.ContainsFunc(stops, func(stopped runner.Stopped) bool {
		return unreachable(stopped.Stop)
	})
}

// watchSignals ends the run gracefully on the first SIGINT or SIGTERM and at
// once on the second. The returned function says whether one was a SIGTERM.
func (s *session) watchSignals(ctx context.Context, cancel context.CancelFunc) (terminated func() bool) {
	got := make(chan bool, 1)
	go func() {
		select {
		case sig := <-s.signals:
			got <- sig == syscall.SIGTERM
			s.show.note("stopping after the current page; ctrl-c again stops at once")
			s.budget.Interrupt()
		case <-ctx.Done():
			return
		}
		select {
		case <-s.signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return func() bool {
		select {
		case term := <-got:
			return term
		default:
			return false
		}
	}
}

// streams returns the streams to collect; nil for all.
func (s *session) streams() []string {
	if len(s.options.streams) > 0 {
		return s.options.streams
	}
	return s.target.streams
}

// A paramsError says that a connector was collected with other parameters, so
// that its checkpoints mean nothing now.
type paramsError struct {
	Connector string
	Was, Now  map[string]string
}

func (e *paramsError) Error() string {
	var changed []string
	for name, now := range e.Now {
		if was, ok := e.Was[name]; !ok || was != now {
			changed = append(changed, fmt.Sprintf("%s was %q and is now %q", name, was, now))
		}
	}
	return fmt.Sprintf("%s was collected with other parameters: %s", e.Connector, strings.Join(changed, ", "))
}

// sameParams refuses parameters that differ from those of the last run: its
// checkpoints were reached under those, and going on from them would skip
// records in silence.
func (s *session) sameParams(ctx context.Context) error {
	runs, err := s.store.Runs(ctx, s.target.name, 1)
	if err != nil || len(runs) == 0 || s.options.newParams || maps.Equal(runs[0].Params, s.target.params) {
		return err
	}
	return &paramsError{Connector: s.target.name, Was: runs[0].Params, Now: s.target.params}
}

func (s *session) scene() scene {
	provider := s.target.connector.Provider()
	sc := scene{
		Connector: s.target.name, Provider: provider.Name, Run: s.record, State: s.settings.State,
		Credential: provider.CredentialFrom, RequestCap: s.options.maxRequests, MaxTime: s.options.maxTime, Now: time.Now(),
	}
	if provider.Credential != "" {
		sc.Mark = fingerprint(s.salt, provider.Credential)
	}
	return sc
}

// crockford is the alphabet of Douglas Crockford's base 32: no letter looks
// like a digit.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newRunID returns an id that sorts by time: 10 characters of milliseconds and
// 6 of chance, as the first 16 of a ULID.
func newRunID(now time.Time) string {
	id := make([]byte, 16)
	ms := now.UnixMilli()
	for i := 9; i >= 0; i-- {
		id[i] = crockford[ms&31]
		ms >>= 5
	}
	rand.Read(id[10:])
	for i := 10; i < len(id); i++ {
		id[i] = crockford[id[i]&31]
	}
	return string(id)
}

// thisProcess names the process that runs.
func thisProcess() collection.Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return collection.Holder{Host: host, PID: os.Getpid()}
}

// Package engine is what can be done with collect, for any front: the command
// line, a console, a worker, another Go program. A front asks and shows; what a
// run does, how it ends and what an order changes is decided here.
package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"collect/collection"
	"collect/engine/har"
	"collect/engine/registry"
	"collect/internal/process"
	"collect/internal/spool"
	"collect/internal/words"
	"collect/pacing"
	"collect/pacing/gate"
	"collect/report/problem"
	"collect/runner"
	"collect/store"
)

// Options are what a front lets people say of one run. Zero fields mean none.
type Options struct {
	Mode        collection.Mode
	Lane        collection.Lane
	OneLane     bool     // leave a backfill alone that was begun, unless Lane is that
	Streams     []string // nil: those of the target
	MaxRequests int64
	MaxTime     time.Duration
	Since       time.Time     // when MaxTime began; zero: with the first request
	Concurrency int           // requests in flight at once; 0: what the pace needs
	Wait        time.Duration // for another run of the connector to end
	Strict      bool          // planned pauses, warnings and doubts have exit codes of their own
	NewParams   bool          // go on with other parameters, or streams, than the last run had
	Trace       bool          // observers are told of each step of each request, too
}

// A Config says what to collect, where to, and who looks on.
type Config struct {
	Target  registry.Target
	Store   store.Store
	Options Options

	Spool     string                                                     // the folder for answers that are too large for memory, one for each connector in it; "": they are in memory
	Meeting   string                                                     // the folder where the runs of this user share their pace; "": this one paces itself alone
	Begun     func() error                                               // called once the run has the lease, before anybody observes; nil: nothing
	Requests  *har.File                                                  // is told of each request; nil: none is
	Observers []func(collection.Event)                                   // called from several goroutines
	Exemplars func(connector string) map[int]collection.DurationExemplar // attempts that a trace has; nil: none has
	Signal    func() int                                                 // the exit code of the signal that came; nil: none comes

	State string // where the store is, as a person writes it
	Flags string // what commands to copy must repeat
}

// A Run is one run of one connector, from the lease to the verdict.
type Run struct {
	Config
	before    *collection.Run // the newest run that worked before this one; nil for none
	corrected []string        // streams that had stored nothing, and are begun anew after an edit
	gone      map[string]bool // streams that are in the file no more, and owe something
	salt      []byte
	id        string // of the run, once it has the lease
	budget    *pacing.Budget
	warned    problem.Warnings
	nothing   bool // no run has stored a record, this one included

	mu     sync.Mutex
	record collection.Run
	work   *runner.Runner // nil until it works
	first  float64        // the pace at the start
	asked  bool           // to stop, by [Run.Interrupt]
	handed bool           // to another process, by [Run.HandOver]
	paused store.Pause    // of the connector by a person, during the run
}

// New returns a run that is to be done once.
func New(c Config) *Run {
	return &Run{Config: c, budget: pacing.NewBudget(pacing.BudgetLimits{
		MaxRequests: c.Options.MaxRequests, MaxTime: c.Options.MaxTime, Since: c.Options.Since,
	})}
}

// An Ended is a run that is over, with all that can be said of it.
type Ended struct {
	Run   collection.Run // with its verdict and exit code
	Owed  []store.OwnedGap
	Stops []runner.Stopped
	Err   error // what ended it, unless it came to its end as planned
}

// Do takes the lease, works, and ends with the verdict. An error is one that
// kept the run from beginning; what happens later is part of the verdict.
func (r *Run) Do(ctx context.Context) (ended Ended, err error) {
	if r.salt, err = r.Store.Salt(ctx); err != nil {
		return Ended{}, err
	}
	if err := r.mayBegin(ctx); err != nil {
		return Ended{}, err
	}
	if err := r.sameAsBefore(ctx, false); err != nil {
		return Ended{}, err // before it waits for anything
	}
	provider := r.Target.Connector.Provider()
	accounts := accountsOf(provider, r.salt)
	ledger, err := r.begin(ctx, accounts)
	if err != nil {
		return Ended{}, err
	}
	// Whatever happens, the lease is given back; after the verdict this does
	// nothing.
	defer func() {
		run := r.Record()
		if err != nil {
			r.judge(ending{Run: run, Err: err, Interrupted: r.signal()}, &run)
		}
		if failed := ledger.Finish(context.WithoutCancel(ctx), run); failed != nil {
			release(ledger)
		}
		r.set(run)
	}()

	// Not before the lease: a run that was waited for may have been another
	// one, and it learns until it ends.
	if err := r.sameAsBefore(ctx, true); err != nil {
		return Ended{}, err
	}
	learned := make([][]byte, len(accounts))
	for i, one := range provider.Each() {
		if learned[i], err = r.learned(ctx, one); err != nil {
			return Ended{}, err
		}
	}
	if r.Begun != nil {
		if err := r.Begun(); err != nil {
			return Ended{}, err
		}
	}
	ordered, err := r.ordered(ctx)
	if err != nil {
		return Ended{}, err
	}
	config := runner.Config{
		GapsFirst: ordered,
		Connector: r.Target.Connector, Ledger: ledger, Run: r.Record(), Onward: !r.Options.OneLane,
		Streams: r.Streams(), Concurrency: r.Options.Concurrency, Budget: r.budget,
		Domain: accounts[0].Domain, Learned: learned[0], Observe: r.observe, Trace: r.Options.Trace,
	}
	if r.Exemplars != nil {
		config.Exemplars = func() map[int]collection.DurationExemplar { return r.Exemplars(r.Target.Name) }
	}
	if r.Requests != nil {
		send := pacing.NewTransport(provider, provider.InFlight(r.Options.Concurrency)*len(accounts))
		config.Base = r.Requests.Transport(send, r.Target.Hidden)
	}
	if r.Spool != "" {
		folder := spool.Folder{Dir: filepath.Join(r.Spool, r.Target.Name)}
		_ = folder.Clear() // what a run left that was killed; the lease says that no other one is at work
		defer func() { _ = folder.Clear() }()
		config.Spill = func() (pacing.Spill, error) { return folder.New() }
	}
	hears := make([]obedience, len(accounts))
	for i, one := range provider.Each() {
		if i > 0 {
			config.More = append(config.More, runner.Account{Domain: accounts[i].Domain, Learned: learned[i]})
		}
		shared := r.share(ctx, one, learned[i], hears[i].obeyed)
		if shared == nil {
			continue
		}
		defer func() { _ = shared.Close() }() // what it saves is in the database as well
		if i == 0 {
			config.Desk = shared
		} else {
			config.More[i-1].Desk = shared
		}
	}
	work, err := runner.New(config)
	if err != nil {
		return Ended{}, err
	}
	for i := range hears {
		hears[i].goTo(context.WithoutCancel(ctx), work, i)
	}
	r.mu.Lock()
	r.work, r.first = work, work.Pace().PerSecond
	r.mu.Unlock()

	r.observe(collection.Event{Kind: collection.RunStarted, Lane: r.Options.Lane})
	if left := r.Target.LeftOut; len(left) > 0 {
		r.observe(collection.Event{Kind: collection.WarningRaised, Code: collection.AccountLeftOut,
			Message: "of the tokens that take turns, the run goes on without " + strings.Join(left, " and ")})
	}
	if ends, soon := provider.CertificateEnds(time.Now()); soon {
		r.observe(collection.Event{Kind: collection.WarningRaised, Code: collection.CertificateEnds,
			Message: CertificateEnds(ends)})
	}
	stop := r.heedPause(ctx)
	done, runErr := work.Do(ctx)
	stop()
	return r.finish(context.WithoutCancel(ctx), ledger, done, work.Stops(), runErr), nil
}

// ordered reports whether a person had a gap of the connector revived that no run has
// tried since. A resume does not look: it takes gaps first whatever was ordered.
func (r *Run) ordered(ctx context.Context) (bool, error) {
	if r.Record().Mode == collection.Resume {
		return false, nil
	}
	owed, err := r.Store.Gaps(ctx, r.Target.Name)
	return slices.ContainsFunc(owed, func(g store.OwnedGap) bool { return g.Revived() }), err
}

// release lets go of the lock of a run whose verdict could not be written, as the death of
// this process would do: a worker lives on, and the next run may come.
func release(l store.Ledger) {
	if held, ok := l.(interface{ Abandon() error }); ok {
		_ = held.Abandon() // what fails here ends with the lease
	}
}

// learned returns what the store knows of an account; nil if that is nothing. Before a third
// party without a name was known by its host, it was by the connector: a freeze still holds.
func (r *Run) learned(ctx context.Context, one collection.Provider) ([]byte, error) {
	state, err := r.Store.Provider(ctx, pacing.DomainOf(one, r.salt))
	if err != nil || state != nil {
		return state, err
	}
	return r.Store.Provider(ctx, pacing.Domain(one.Name, one.Account(), r.salt))
}

// accountsOf returns the accounts of p: their pacing domains, and where their credentials
// came from.
func accountsOf(p collection.Provider, salt []byte) (accounts []collection.RunAccount) {
	for _, one := range p.Each() {
		accounts = append(accounts, collection.RunAccount{Domain: pacing.DomainOf(one, salt), From: one.CredentialFrom})
	}
	return accounts
}

// Interrupt ends the run with the page in flight.
func (r *Run) Interrupt() {
	r.mu.Lock()
	r.asked = true
	r.mu.Unlock()
	r.budget.Interrupt()
}

// HandOver ends the run with the page in flight, as planned: another process goes on
// with its connector.
func (r *Run) HandOver() {
	r.mu.Lock()
	r.handed = true
	r.mu.Unlock()
	r.budget.Interrupt()
}

// handedOver reports whether the run was ended by [Run.HandOver].
func (r *Run) handedOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handed
}

// Record returns the run as it stands.
func (r *Run) Record() collection.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record
}

func (r *Run) set(run collection.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record = run
}

// Before returns the newest run that worked before this one, and the streams that
// had stored nothing and are begun anew after an edit of the connector file.
func (r *Run) Before() (run *collection.Run, corrected []string) { return r.before, r.corrected }

// Salt returns what the store hashes credentials with.
func (r *Run) Salt() []byte { return r.salt }

// Budget returns what the run may still do.
func (r *Run) Budget() *pacing.Budget { return r.budget }

// Warnings returns what the run warned of.
func (r *Run) Warnings() *problem.Warnings { return &r.warned }

// Pace returns how the run paces its requests, how they fare, and the pace that
// it began with; ok is false before it works.
func (r *Run) Pace() (now gate.Status, metrics collection.Metrics, first float64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.work == nil {
		return now, metrics, 0, false
	}
	return r.work.Pace(), r.work.Metrics(), r.first, true
}

// Passed returns, by stream, how many parents the run has looked at and asks for nothing of.
func (r *Run) Passed() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.work == nil {
		return nil
	}
	return r.work.Passed()
}

// Streams returns the streams to collect; nil for all.
func (r *Run) Streams() []string {
	if len(r.Options.Streams) > 0 {
		return r.Options.Streams
	}
	return r.Target.Streams
}

// observe tells all who look on of an event of the run.
func (r *Run) observe(e collection.Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if e.Run == "" {
		provider := r.Target.Connector.Provider()
		e.Run, e.Connector, e.Provider = r.id, r.Target.Name, provider.ThirdParty()
	}
	r.warned.Add(e)
	for _, observe := range r.Observers {
		observe(e)
	}
}

func (r *Run) signal() int {
	if r.Signal == nil {
		return 0
	}
	return r.Signal()
}

// begin takes the lease, waiting for another run as long as the options allow.
func (r *Run) begin(ctx context.Context, accounts []collection.RunAccount) (store.Ledger, error) {
	now := time.Now()
	run := collection.Run{
		ID: newRunID(now), Connector: r.Target.Name, Mode: r.Options.Mode, Lane: r.Options.Lane,
		Params: merged(identity(r.Target), r.meaningOfGone()), Domain: accounts[0].Domain, Source: r.Target.Source, Holder: process.This(), StartedAt: now,
	}
	if len(accounts) > 1 {
		run.Accounts = accounts
	}
	r.id = run.ID
	r.set(run)
	wait := r.Options.Wait
	if o := r.Options; !o.Since.IsZero() && o.MaxTime > 0 {
		wait = min(wait, o.Since.Add(o.MaxTime).Sub(now))
	}
	for {
		ledger, err := r.Store.Begin(ctx, run, r.Target.Connector.Streams())
		if _, held := errors.AsType[*store.HeldError](err); !held || time.Since(now) >= wait {
			return ledger, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(time.Second, wait)):
		}
	}
}

// finish reads what is owed, and ends the run that is done with its verdict.
func (r *Run) finish(ctx context.Context, ledger store.Ledger, run collection.Run, stops []runner.Stopped, runErr error) Ended {
	owed, err := r.Store.Gaps(ctx, run.Connector)
	if runErr == nil {
		runErr = err
	}
	end := ending{
		Run: run, Owed: owed, Err: runErr, Unreached: unreached(run, stops),
		Interrupted: r.signal(), Strict: r.Options.Strict, Planned: r.handedOver() || !r.pausedBy().At.IsZero(),
	}
	end.Warnings, end.Doubted = r.warned.Tell()
	run.EndedAt = time.Now()
	r.judge(end, &run)
	if err := ledger.Finish(ctx, run); err != nil && end.Err == nil {
		end.Err = err
		r.judge(end, &run)
	}
	r.set(run)
	return Ended{Run: run, Owed: owed, Stops: stops, Err: end.Err}
}

// judge gives a run its verdict.
func (r *Run) judge(e ending, run *collection.Run) {
	run.Outcome, run.ExitCode = verdict(e)
	run.Metrics.Broke, run.Metrics.BrokeBy = broke(e.Err, *run, r.Target)
}

// broke returns the code and the sentence of an error that ended a run; "" for none, and for a stop,
// whose reason the run has. The sentence is for all who see the database, from any machine: it
// names no address of it.
func broke(err error, run collection.Run, target registry.Target) (code, sentence string) {
	if _, stop := errors.AsType[*collection.Stop](err); err == nil || stop {
		return "", ""
	}
	provider := target.Connector.Provider()
	p := problem.Of(err, problem.Scene{Connector: run.Connector, Provider: provider.ThirdParty(), Run: run})
	shows := func(secret string) bool { return secret != "" && strings.Contains(p.Headline, secret) }
	if slices.ContainsFunc(target.Hidden(), shows) { // no error quotes one; where one does, its words stay in the log
		return p.Code, ""
	}
	return p.Code, words.Clean(p.Headline)
}

// unreached reports whether no request of the run got as far as an answer.
func unreached(run collection.Run, stops []runner.Stopped) bool {
	return run.Tally.Slices == 0 && slices.ContainsFunc(stops, func(stopped runner.Stopped) bool {
		return problem.Unreachable(stopped.Stop)
	})
}

// An obedience passes what an operator ordered during a run to what records it.
// Orders that come before there is something to record them wait for it.
type obedience struct {
	mu      sync.Mutex
	record  func([]collection.Event)
	waiting [][]collection.Event
}

func (o *obedience) obeyed(events []collection.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.record == nil {
		o.waiting = append(o.waiting, events)
		return
	}
	o.record(events)
}

func (o *obedience) goTo(ctx context.Context, work *runner.Runner, account int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// After an error nothing leaves, and the run ends with it.
	o.record = func(events []collection.Event) { _ = work.Obeyed(ctx, account, events...) }
	for _, events := range o.waiting {
		o.record(events)
	}
}

package cmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"collect/cmd/internal/config"
	"collect/collection"
	"collect/pacing"
	"collect/report/problem"
	"collect/runner"
	"collect/store"
)

// A session is one run of one connector, from the lease to the summary.
type session struct {
	*app
	options  runOptions
	settings config.Settings
	target   target
	store    store.Store

	before *collection.Run // the newest run before this one; nil for none
	record collection.Run

	nothing   bool                // no run has stored a record, this one included
	states    []store.StreamState // once the work is over
	corrected []string            // streams that had stored nothing, and are begun anew after an edit
	budget    *pacing.Budget
	show      *display
	salt      []byte
}

// run takes the lease, works, and ends with the verdict. An error is one that
// kept the run from beginning; what happens later is part of the verdict.
func (s *session) run(ctx context.Context) (code int, err error) {
	if s.salt, err = s.store.Salt(ctx); err != nil {
		return 0, err
	}
	if err := s.sameAsBefore(ctx, false); err != nil {
		return 0, err // before it waits for anything
	}
	provider := s.target.connector.Provider()
	domain := pacing.Domain(provider.Name, provider.Credential, s.salt)
	ledger, err := s.begin(ctx, domain)
	if err != nil {
		return 0, err
	}
	// Whatever happens, the lease is given back; after the verdict this does
	// nothing.
	defer func() {
		if err != nil {
			s.record.Outcome, s.record.ExitCode = verdictCode(ending{Run: s.record, Err: err, Interrupted: s.interrupts.code()})
		}
		_ = ledger.Finish(context.WithoutCancel(ctx), s.record)
	}()

	// Not before the lease: a run that was waited for may have been another
	// one, and it learns until it ends.
	if err := s.sameAsBefore(ctx, true); err != nil {
		return 0, err
	}
	learned, err := s.store.Provider(ctx, domain)
	if err != nil {
		return 0, err
	}
	s.budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: s.options.maxRequests, MaxTime: s.options.maxTime})
	if s.show, err = s.newDisplay(ctx); err != nil {
		return 0, err
	}
	defer s.show.Close()
	s.endGently()
	defer s.interrupts.gentle(nil, nil)
	config := runner.Config{
		Connector: s.target.connector, Ledger: ledger, Run: s.record,
		Streams: s.streams(), Concurrency: s.options.concurrency, Budget: s.budget,
		Domain: domain, Learned: learned, Observe: s.show.observe, Trace: s.options.trace,
	}
	var hears orders
	if shared := s.share(ctx, provider, learned, hears.obeyed); shared != nil {
		config.Desk = shared
		defer func() { _ = shared.Close() }() // what it saves is in the database as well
	}
	work, err := runner.New(config)
	if err != nil {
		return 0, err
	}
	hears.goTo(context.WithoutCancel(ctx), work)
	s.show.watch(work)

	if line := s.goesOn(); line != "" {
		s.show.Say(line)
	}
	s.show.observe(collection.Event{Kind: collection.RunStarted, Lane: s.record.Lane})
	done, runErr := work.Do(ctx)
	s.record = done
	return s.finish(context.WithoutCancel(ctx), ledger, work.Stops(), runErr)
}

// orders are what an operator ordered during a run. Those that come before
// there is something to record them wait for it.
type orders struct {
	mu      sync.Mutex
	record  func([]collection.Event)
	waiting [][]collection.Event
}

func (o *orders) obeyed(events []collection.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.record == nil {
		o.waiting = append(o.waiting, events)
		return
	}
	o.record(events)
}

func (o *orders) goTo(ctx context.Context, work *runner.Runner) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// After an error nothing leaves, and the run ends with it.
	o.record = func(events []collection.Event) { _ = work.Obeyed(ctx, events...) }
	for _, events := range o.waiting {
		o.record(events)
	}
}

// begin takes the lease, waiting for another run as long as --wait allows.
func (s *session) begin(ctx context.Context, domain string) (store.Ledger, error) {
	now := time.Now()
	s.record = collection.Run{
		ID: newRunID(now), Connector: s.target.name, Mode: s.options.mode, Lane: collection.Lane(s.options.lane),
		Params: s.target.identity(), Domain: domain, Source: s.target.source, Holder: thisProcess(), StartedAt: now,
	}
	for {
		ledger, err := s.store.Begin(ctx, s.record, s.target.connector.Streams())
		if _, held := errors.AsType[*store.HeldError](err); !held || time.Since(now) >= s.options.wait {
			return ledger, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(time.Second, s.options.wait)):
		}
	}
}

// finish reads what is owed, ends the run with its verdict and tells it.
func (s *session) finish(ctx context.Context, ledger store.Ledger, stops []runner.Stopped, runErr error) (int, error) {
	owed, err := s.store.Gaps(ctx, s.record.Connector)
	if runErr == nil {
		runErr = err
	}
	end := ending{
		Run: s.record, Owed: owed, Err: runErr, Unreached: s.unreached(stops),
		Interrupted: s.interrupts.code(), Strict: s.options.strict,
	}
	end.Warnings, end.Doubted = s.show.warned.Tell()
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
		return problem.Unreachable(stopped.Stop)
	})
}

// endGently makes the first signal end the run with the page in flight, and the
// second one at once.
func (s *session) endGently() {
	s.interrupts.gentle(func(sig os.Signal) {
		s.budget.Interrupt()
		s.show.Stopping(sig)
	}, s.show.Close)
}

// streams returns the streams to collect; nil for all.
func (s *session) streams() []string {
	if len(s.options.streams) > 0 {
		return s.options.streams
	}
	return s.target.streams
}

// goesOn says in a line what this run goes on from; "" if it begins anew.
func (s *session) goesOn() string {
	switch before := s.before; {
	case before == nil:
		if s.target.discloses != "" {
			return fmt.Sprintf("%s: first run: %s", s.target.name, s.target.discloses)
		}
		return ""
	case len(s.corrected) > 0:
		return fmt.Sprintf("%s: the connector file has changed, and %s had stored nothing, so it starts over", s.target.name, strings.Join(s.corrected, ", "))
	case before.Outcome == collection.Running || before.Outcome == collection.Abandoned:
		return fmt.Sprintf("%s: taking over from run %s, whose process died; what was saved is safe", s.target.name, before.ID)
	case before.Reason != "":
		return fmt.Sprintf("%s: continuing run %s: %s", s.target.name, before.ID, problem.Brief(before.Reason))
	}
	return ""
}

func (s *session) scene() problem.Scene {
	provider := s.target.connector.Provider()
	sc := problem.Scene{
		Connector: s.target.name, Provider: provider.Name, Run: s.record, State: s.settings.State,
		Flags: s.repeat(), Nothing: s.nothing, Credential: provider.CredentialFrom, RequestCap: s.options.maxRequests, MaxTime: s.options.maxTime, Now: time.Now(),
	}
	if len(provider.Origins) == 1 {
		sc.Address = provider.Origins[0]
	}
	if provider.Credential != "" {
		sc.Mark = problem.Fingerprint(s.salt, provider.Credential)
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

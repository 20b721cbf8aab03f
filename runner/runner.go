// Package runner runs a connector: it walks the streams, commits slice by
// slice, and turns what could not be had into gaps.
//
// It owns four rules, each visible once in the code:
//
//   - A checkpoint moves only with the records before it ([committer]).
//   - Budgets end a slice before it is asked for, never inside it: the client
//     refuses the next attempt, and the piece becomes a gap.
//   - A stop that concerns one slice or partition costs that piece, and the
//     rest goes on; a stop that concerns the provider ends the run, and every
//     stream that is not finished is left with a gap that says so.
//   - After a commit with an unknown outcome nothing behind it is committed before
//     the checkpoint was read back.
//
// While a slice is committed, the next one is fetched.
//
// A run is forward work and recovery. Forward work takes the streams in order,
// parents first, and walks each from its checkpoint: a stream without parents
// is one walk, a stream with parents is a pass over its partitions, several
// side by side. Recovery takes the gaps that are due, page after page, until
// none is left. A run does a stream's forward work and then its gaps; a resume,
// and a run before which a person ordered a gap to be tried, does all gaps first. Both finish the walks that were begun before they begin
// another one. Behind its own lane, a run goes on with a backfill that was begun.
package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"collect/collection"
	"collect/connectors"
	"collect/pacing"
	"collect/pacing/gate"
)

// A Ledger is the part of a store that a run writes to. The promises of its
// methods are those of store.Ledger.
type Ledger interface {
	Epoch() int64
	Checkpoint(ctx context.Context, at collection.Place) (collection.Checkpoint, error)
	Commit(ctx context.Context, slices ...collection.Slice) ([]collection.Committed, error)
	Defer(ctx context.Context, worked bool, gaps ...collection.Gap) ([]collection.Gap, error)
	Lease(ctx context.Context, lane collection.Lane, streams []string, now time.Time, n int) ([]collection.Gap, error)
	Parents(ctx context.Context, parent string, after string, n int) ([]collection.Parent, error)
	Places(ctx context.Context, at []collection.Place) ([]collection.PlaceState, error)
	Contested(ctx context.Context, at collection.Place) ([]collection.Contest, error)
	SaveProvider(ctx context.Context, domain string, state []byte, events ...collection.Event) error
	Beat(ctx context.Context, now time.Time, tally collection.Tally, metrics collection.Metrics) error
}

// A Config says what to run.
type Config struct {
	Connector   connectors.Connector
	Ledger      Ledger
	Run         collection.Run // ID, Connector, Mode and Lane are set
	GapsFirst   bool           // gaps come before forward work, as in a resume
	Onward      bool           // behind the work of the lane, a backfill that was begun goes on
	Streams     []string       // nil: all
	Concurrency int            // requests in flight at once; 0: see collection.Concurrency
	Budget      *pacing.Budget // nil: nothing ends the run but its work

	Domain  string                       // names the provider's account in the ledger
	Learned []byte                       // what the ledger remembers of Domain; nil: nothing
	Desk    pacing.Desk                  // gives the turns; nil: one of this run alone, which goes on with Learned
	More    []Account                    // the further accounts of the provider; those that it does not name are not used
	Base    http.RoundTripper            // what sends; nil: the network
	Observe func(collection.Event)       // called from several goroutines; nil: events are not told
	Trace   bool                         // Observe is told of each request, too
	Spill   func() (pacing.Spill, error) // a file for an answer that is too large for memory; nil: all are in memory
	Random  func() float64               // what jitter is drawn from; nil: math/rand/v2
	Once    bool                         // a page that cannot be read is not asked for again: each answer is known before

	// Exemplars returns attempts that a trace has, one for each bucket of durations at
	// most. nil: none has one.
	Exemplars func() map[int]collection.DurationExemplar
}

// An Account is one of several of a provider; its fields are those of [Config].
type Account struct {
	Domain  string
	Learned []byte
	Desk    pacing.Desk
}

// beatEvery is how often a run says that it is alive. People read it ("alive
// 3 s ago"), and a store whose leases end by themselves renews the lease with it.
const beatEvery = 5 * time.Second

// A Runner is one execution of a connector.
type Runner struct {
	Config
	governor *pacing.Governor
	client   *http.Client
	streams  []collection.Stream
	lane     collection.Lane // in which the run is at work
	limits   collection.Limits
	commits  *committer

	mu          sync.Mutex
	stop        *collection.Stop // what ends the run; nil while it goes on
	stops       []Stopped
	tally       collection.Tally
	wait        *collection.WaitInfo      // under way; nil: none
	anew        bool                      // what came to its end is begun anew
	left        map[collection.Place]bool // homes that this run left a gap at
	done        map[collection.Place]bool // homes that need nothing more in this run
	begunBefore map[string]bool           // streams that the run went on with, or left as they were
	begun       map[collection.Place]bool // places whose walk began anew though it was not finished
	passed      map[string]int64          // by stream, the parents that no partition is wanted of
	passing     map[string]bool           // streams whose pass finds again what was not finished
	doubted     map[string]bool           // streams with a partition of whose walk something is not known

	deciding sync.Mutex
	shared   map[string]bool // the names of streams in which a shared key was found; see decide

	vouching sync.Mutex
	vouched  bool // something was asked for that had been readable

	warned  map[warningKind]int
	vain    int               // pages that were asked for again in vain since that helped
	streaks map[string]streak // by stream
	waits   map[string]*waits // by stream whose pass is under way
}

// Stopped is a stop with the place where it was met.
type Stopped struct {
	At     collection.Place
	Stop   *collection.Stop
	Stands bool // the walk of the stream stands there, and what comes behind was not asked for
}

// New returns a runner for c. Its only errors are an *[connectors.UnknownStreamError] and
// those of limits that cannot be meant.
func New(c Config) (*Runner, error) {
	if c.Budget == nil {
		c.Budget = pacing.NewBudget(pacing.BudgetLimits{})
	}
	provider, asked := c.Connector.Provider(), c.Concurrency
	if c.Concurrency = provider.InFlight(asked); asked <= 0 {
		c.Concurrency *= 1 + len(c.More)
	}
	r := &Runner{Config: c, lane: c.Run.Lane, commits: newCommitter(c.Ledger, c.Budget.Tally), left: map[collection.Place]bool{}, done: map[collection.Place]bool{}, begunBefore: map[string]bool{}, begun: map[collection.Place]bool{}, passed: map[string]int64{}, passing: map[string]bool{}, doubted: map[string]bool{}, shared: map[string]bool{}, warned: map[warningKind]int{}, streaks: map[string]streak{}, waits: map[string]*waits{}}

	r.streams = c.Connector.Streams()
	for _, name := range c.Streams {
		if known := r.names(); !slices.Contains(known, name) {
			return nil, &connectors.UnknownStreamError{Stream: name, Known: known}
		}
	}
	if c.Streams != nil {
		r.streams = slices.DeleteFunc(r.streams, func(s collection.Stream) bool { return !slices.Contains(c.Streams, s.Name) })
	}

	r.limits = provider.Limits.WithDefaults()
	more := make([]pacing.Account, len(c.More))
	for i, a := range c.More {
		more[i] = pacing.Account{Restore: a.Learned, Desk: a.Desk, Save: r.saving(a.Domain)}
	}
	governor, err := pacing.New(pacing.Config{
		Provider:    provider,
		Budget:      c.Budget,
		Concurrency: asked,
		Base:        c.Base,
		Restore:     c.Learned,
		Desk:        c.Desk,
		Observe:     r.observe,
		Random:      c.Random,
		Spill:       c.Spill,
		Trace:       c.Trace,
		Save:        r.saving(c.Domain),
		More:        more,
	})
	if err != nil {
		return nil, err
	}
	r.governor, r.client = governor, governor.Client()
	return r, nil
}

// Do runs until the work is done, a budget ends, or the provider refuses. It
// returns the run with its reason, tally and waits; the outcome is that of [collection.OutcomeOf]
// to say. It may be called once.
//
// The error is nil for everything that left a gap, planned stops and refusals
// alike. It is not nil if the ledger failed, the lease was lost
// (collection.ErrFenced) or the connector is broken: what was committed is
// safe then, too.
func (r *Runner) Do(ctx context.Context) (collection.Run, error) {
	defer r.governor.Close()
	leased, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	stopBeating := r.beat(ctx, lose)
	err := r.work(leased)
	stopBeating()
	if lost := context.Cause(leased); errors.Is(lost, collection.ErrFenced) {
		err = lost
	} else if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		r.met(collection.Place{}, &collection.Stop{Reason: collection.Interrupted, Err: err})
		err = nil
	}

	// The learned pace and the gaps are kept, whatever ended the run.
	after := context.WithoutCancel(ctx)
	if flushed := r.governor.Flush(after); err == nil {
		err = flushed
	}
	if r.ended() != nil && !errors.Is(err, collection.ErrFenced) {
		if owed := r.leaveRest(after); err == nil {
			err = owed
		}
	}
	run := r.Run
	run.Tally, run.Waited, run.Metrics = r.Tally(), r.Budget.Waited(), r.measured()
	if stop := r.ended(); stop != nil {
		run.Reason = stop.Reason
	}
	return run, err
}

// Pace returns how things stand with the provider.
func (r *Runner) Pace() gate.Status { return r.governor.Status() }

// Accounts returns how things stand with each account, in the order of [collection.Provider.Each].
func (r *Runner) Accounts() []gate.Status { return r.governor.Accounts() }

// Obeyed records an operator's order that the desk of an account, 0 for the first, obeys already.
func (r *Runner) Obeyed(ctx context.Context, account int, events ...collection.Event) error {
	return r.governor.Obeyed(ctx, account, events...)
}

// Metrics returns how the requests fare so far.
func (r *Runner) Metrics() collection.Metrics { return r.governor.Metrics() }

// measured returns the same with what the store adds up over all runs.
func (r *Runner) measured() collection.Metrics {
	m := r.Metrics()
	if m.TotalRequests > 0 {
		traffic := r.governor.Traffic()
		if r.Exemplars != nil {
			traffic.Exemplars = r.Exemplars()
		}
		m.Traffic = &traffic
	}
	return m
}

// Tally returns the work so far.
func (r *Runner) Tally() collection.Tally {
	sent := r.Budget.Tally()
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tally
	t.Requests, t.Retries, t.Throttled = sent.Requests, sent.Retries, sent.Throttled
	return t
}

// Passed returns, by stream, how many of the parents that the run looked at have no
// partition that is wanted.
func (r *Runner) Passed() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.passed)
}

// Stops returns the first stop of each reason that the run met, in the order
// it met them.
func (r *Runner) Stops() []Stopped {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.stops)
}

func (r *Runner) names() []string {
	names := make([]string, len(r.streams))
	for i, stream := range r.streams {
		names[i] = stream.Name
	}
	return names
}

// met notes a stop, and ends the run with it if it concerns the provider. The
// first that does counts. Of a refusal of the account that is the one that the
// provider answered: requests that wait for their turn hear of it first.
func (r *Runner) met(at collection.Place, stop *collection.Stop) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := func(was *collection.Stop) bool {
		return was.Reason == stop.Reason && stop.Reason.RefusesAccount() && was.Status == 0 && stop.Status != 0
	}
	i := slices.IndexFunc(r.stops, func(s Stopped) bool { return s.Stop.Reason == stop.Reason })
	switch {
	case i < 0:
		r.stops = append(r.stops, Stopped{At: at, Stop: stop})
	case answers(r.stops[i].Stop):
		r.stops[i].At, r.stops[i].Stop = at, stop
	}
	if stop.EndsRun() && (r.stop == nil || answers(r.stop)) {
		r.stop = stop
	}
}

// refused returns the words for the partition whose request the provider refused so
// that the run ended; "" if that was none.
func (r *Runner) refused() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.stops {
		if s.Stop == r.stop && s.Stop.Reason.Freezes() && s.Stop.Status != 0 && s.At.Partition != "" {
			return fmt.Sprintf("%d to %s %s", s.Stop.Status, s.At.Stream, s.At.Partition)
		}
	}
	return ""
}

// stands notes that the walk of a stream stands at a stop that was met.
func (r *Runner) stands(at collection.Place, stop *collection.Stop) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.stops, func(s Stopped) bool { return s.Stop.Reason == stop.Reason && s.At == at })
	if i >= 0 && at.Partition == "" {
		r.stops[i].Stands = true
	}
}

// unsent reports whether the run ended before any request left. Then it knows no
// more of any piece than the run before it, and leaves the ledger as it is, but
// for streams that were not left for this reason before.
func (r *Runner) unsent() bool { return r.ended() != nil && r.Budget.Tally().Requests == 0 }

// ended returns what ends the run, or nil while it goes on.
func (r *Runner) ended() *collection.Stop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop
}

// finish notes that the walk or pass of a stream needs nothing more.
func (r *Runner) finish(at collection.Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[at] = true
}

// unfinish notes that a stream is taken on once more.
func (r *Runner) unfinish(at collection.Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.done, at)
}

func (r *Runner) finished(at collection.Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[at]
}

// settled reports whether this run finished a stream or left a gap at its home.
func (r *Runner) settled(at collection.Place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[at] || r.left[at]
}

// beat keeps saying that the run is alive until the returned function is
// called, and calls lose if the ledger answers that the lease is lost. A beat that
// fails otherwise costs nothing.
func (r *Runner) beat(ctx context.Context, lose context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				metrics := r.measured()
				metrics.Wait, metrics.Limits = r.waiting(), r.Budget.Limits()
				if err := r.Ledger.Beat(ctx, now, r.Tally(), metrics); errors.Is(err, collection.ErrFenced) {
					lose(err)
					return
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}

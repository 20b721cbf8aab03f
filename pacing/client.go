package pacing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
	"collect/pacing/meter"
)

// Config describes a governed client. Zero fields select what their comment
// says.
type Config struct {
	Provider    collection.Provider
	Law         string            // of the pace; "": the first of Laws
	Budget      *Budget           // nil: one without limits
	Concurrency int               // requests in flight at once; 0: see collection.Concurrency
	Base        http.RoundTripper // what sends; nil: a transport of its own
	Restore     []byte            // what Save was last given; nil: nothing is known yet

	// Desk gives the turns: that of an account which other processes use as
	// well. nil: a desk of its own, which continues with Restore.
	Desk Desk

	// More is what Restore, Desk and Save are for the further accounts of Provider, in
	// their order. Accounts that it has no entry for are not used.
	More []Account

	// Save makes the state durable, with the events that led to it. It is
	// called before a hold, a freeze, a breaker change or a share of a long
	// window is relied on, and by Flush; never twice at once. After an error
	// no request leaves any more. nil: nothing outlives the process.
	Save func(ctx context.Context, state []byte, events ...collection.Event) error

	// Observe is told of waits over half a second, throttles, changes of the
	// rate, the breaker and the freeze, and of a budget that is used up: in
	// order, and never of two at once. It must return quickly and not call
	// Close. nil: events are not told.
	Observe func(collection.Event)

	// Spill returns a file for an answer that is too large for memory, if its
	// request allows for one; see [collection.WithSpill]. nil: all are in memory.
	Spill func() (Spill, error)

	// Random is what jitter is drawn from, in [0, 1); it may be called from
	// several goroutines. nil: math/rand/v2. With a Desk, that one has its own.
	Random func() float64

	// Trace also tells Observe of each request and attempt.
	Trace bool
}

// An Account is what a governed client knows and keeps of one account of a provider;
// see the fields of [Config] with the same names.
type Account struct {
	Restore []byte
	Desk    Desk
	Save    func(ctx context.Context, state []byte, events ...collection.Event) error
}

// A Governor lets the requests to one provider out, one gate for all of them.
// It is safe for concurrent use. Where there are several accounts, there is one Governor
// for each, and the first one sends by all of them: see [accounts].
type Governor struct {
	guard
	several     *accounts // nil: there is one account
	limits      collection.Limits
	budget      *Budget
	base        http.RoundTripper
	client      *http.Client
	random      func() float64
	room        *room
	patience    patience
	spill       func() (Spill, error)
	save        func(ctx context.Context, state []byte, events ...collection.Event) error
	traced      bool
	concurrency int32 // beside a bool, it makes the Governor no larger
	meter       *meter.Meter
	waiting     atomic.Int64 // attempts in line
	served      atomic.Int64 // when a request was last answered well, in nanoseconds since 1970; 0: not yet

	witness atomic.Pointer[http.Request] // what was readable last; nil: nothing was
	doubted atomic.Bool                  // what had been forbidden still was, without one
	asking  chan struct{}                // holds one while the witness is asked for,
	held    time.Time                    // and then guards when it was readable, asked for once more

	desk      Desk
	saveOrder sync.Mutex // states are saved in their order

	teller                     // whose mu guards what follows
	broken     error           // of a save, or of the only credential: nothing leaves any more
	announced  *desk.Turn      // whose wait was told,
	ends       time.Time       // and until when it was to last
	waits      []*desk.Turn    // in the order in which they began to wait for a cause,
	accounted  time.Time       // and until when that is in the budget
	heard      meter.Announced // limits of the provider that were told
	answered   map[string]int  // requests of each stream that were answered well,
	webPages   map[string]bool // and whether one was with a web page
	remembered time.Time       // when what was learned was last saved though all was well
	reported   float64         // the rate that was last told,
	fell       time.Time       // and since when the pace is so much lower that this is told, too; zero: it is not
	probe      func(waits int) // for tests: the waits of each attempt
}

// A Desk gives turns at a gate: see [desk.Desk], which is that of one process.
// Others share the gate of an account between processes.
type Desk interface {
	Enter(ctx context.Context, t *desk.Turn) (gate.Pass, error)
	Settle(p gate.Pass, o gate.Outcome, next gate.Request) desk.Settled
	State(last bool) []byte
	Saved()
	Look()
	Status() gate.Status
}

// New returns a Governor that continues with what c.Restore says. A state it
// cannot read is a cold start and a warning, not an error; an error names what
// is wrong with c.
func New(c Config) (*Governor, error) {
	each := c.Provider.Each()
	each = each[:1+min(len(c.More), len(each)-1)]
	if len(each) > 1 {
		return newAccounts(c, each)
	}
	c.Provider = each[0]
	return newGovernor(c)
}

// newGovernor returns the Governor of the one account of c.Provider.
func newGovernor(c Config) (*Governor, error) {
	g := &Governor{
		room:        &room{},
		meter:       &meter.Meter{},
		limits:      c.Provider.Limits.WithDefaults(),
		budget:      c.Budget,
		base:        c.Base,
		concurrency: int32(min(c.Provider.InFlight(c.Concurrency), math.MaxInt32)),
		random:      c.Random,
		spill:       c.Spill,
		save:        c.Save,
		traced:      c.Trace && c.Observe != nil,
		asking:      make(chan struct{}, 1),
		answered:    map[string]int{},
		webPages:    map[string]bool{},
	}
	if g.budget == nil {
		g.budget = NewBudget(BudgetLimits{})
	}
	if g.random == nil {
		g.random = rand.Float64
	}
	var err error
	if g.guard, err = newGuard(c.Provider); err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Provider.Name, err)
	}
	if g.desk = c.Desk; g.desk == nil {
		own, err := NewGate(c)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", c.Provider.Name, err)
		}
		g.desk = desk.New(own)
	}
	if g.base == nil {
		g.base = NewTransport(c.Provider, int(g.concurrency))
	}
	g.client = &http.Client{Transport: transport{g}, CheckRedirect: g.checkRedirect}
	status := g.desk.Status()
	g.reported = status.PerSecond
	g.name, g.observe, g.spent, g.ceiling, g.saves = c.Provider.ThirdParty(), c.Observe, g.budget.spent, status.Ceiling, c.Save != nil
	g.told = sync.NewCond(&g.mu)
	return g, nil
}

// A Spill is a file that an answer is written to and read from. Close removes it.
type Spill interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// NewGate returns the gate that c describes, which continues with c.Restore.
// c.Observe is told if that cannot be read, and the gate then knows nothing.
func NewGate(c Config) (*gate.Gate, error) {
	g, err := gate.New(c.Provider, c.Law, c.Provider.Limits.WithDefaults().LongestWait, c.Concurrency)
	if err != nil {
		return nil, err
	}
	if c.Random != nil {
		g.Draw(c.Random)
	}
	now := time.Now()
	if err := g.Restore(c.Restore, now); err != nil && c.Observe != nil {
		c.Observe(collection.Event{Time: now, Kind: collection.WarningRaised, Provider: c.Provider.ThirdParty(),
			Message: "the learned pace of " + c.Provider.Name + " could not be read, so the pace starts over: " + err.Error()})
	}
	return g, nil
}

// Client returns the client that connectors send with. Its requests wait as
// long as they must; the context of a request ends its wait. Its responses are
// complete: the body is in memory, or in a spill, inflated, within the provider's limits.
//
// An error of it wraps a *[collection.Stop], the cause of the request's
// context, or the error of a save.
func (g *Governor) Client() *http.Client { return g.client }

// HoldsSecret reports whether a text that came from the provider holds the
// credential, so that it must not be shown.
func (g *Governor) HoldsSecret(text string) bool { return g.holdsSecret(text) }

// Flush saves what was learned.
func (g *Governor) Flush(ctx context.Context) error {
	return g.each(func(one *Governor) error {
		return one.keep(ctx, func() []byte { return one.desk.State(true) })
	})
}

// each calls do for the Governor of each account, and returns the first error.
func (g *Governor) each(do func(*Governor) error) (err error) {
	if g.several == nil {
		return do(g)
	}
	for _, one := range g.several.all {
		if failed := do(one); err == nil {
			err = failed
		}
	}
	return err
}

// rememberEvery is how often what was learned is saved while all is well.
const rememberEvery = 2 * time.Second

// Remember saves what was learned so far: the first time, and then at most every two
// seconds. It is for callers who have just written something else that must last: so
// a process that is killed knows the pace of two seconds before, and who looks at a
// run that waits after its first answer is told of what. After an error of it no
// request leaves any more.
func (g *Governor) Remember(ctx context.Context) error {
	return g.each(func(one *Governor) error { return one.remember(ctx) })
}

func (g *Governor) remember(ctx context.Context) error {
	g.mu.Lock()
	now := time.Now()
	due := now.Sub(g.remembered) >= rememberEvery
	if due {
		g.remembered = now
	}
	g.mu.Unlock()
	if !due {
		return nil
	}
	return g.keep(ctx, func() []byte { return g.desk.State(false) })
}

// Status returns how things stand; with several accounts, with the one that has most to
// give, and the rates and ceilings of those that take part together.
func (g *Governor) Status() gate.Status {
	if g.several != nil {
		return g.several.status()
	}
	return g.desk.Status()
}

// Accounts returns how things stand with each account, in their order.
func (g *Governor) Accounts() (all []gate.Status) {
	_ = g.each(func(one *Governor) error { all = append(all, one.desk.Status()); return nil })
	return all
}

// Metrics returns how the requests fare so far.
func (g *Governor) Metrics() collection.Metrics {
	m := g.meter.Read()
	m.QueueDepth, m.MaxConcurrency = int(g.waiting.Load()), int(g.concurrency)
	if g.several != nil {
		m.MaxConcurrency *= len(g.several.all)
	}
	return m
}

// Traffic returns what became of all requests so far, and what they waited for, until now.
func (g *Governor) Traffic() collection.Traffic {
	_ = g.each(func(one *Governor) error {
		one.mu.Lock()
		defer one.mu.Unlock()
		if len(one.waits) > 0 {
			one.countWait(one.waits[0], time.Now())
		}
		return nil
	})
	t := g.meter.Traffic()
	t.Waited = map[collection.WaitCause]float64{}
	for cause, d := range g.budget.Waited() {
		t.Waited[cause] = d.Seconds()
	}
	t.Used = g.budget.used(time.Now())
	return t
}

// Close frees idle connections. When it returns, Observe has been told of
// everything.
func (g *Governor) Close() {
	_ = g.each(func(one *Governor) error { one.wait(); return nil })
	if base, ok := g.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// DomainOf returns the pacing domain of a provider and its one account.
func DomainOf(p collection.Provider, salt []byte) string {
	return Domain(p.ThirdParty(), p.Account(), salt)
}

// Domain names a pacing domain: the third party, and the account by a hash of the
// whole credential. Rate, breaker and freeze belong to it.
func Domain(party, credential string, salt []byte) string {
	sum := sha256.Sum256(append(slices.Clone(salt), credential...))
	return party + "/" + hex.EncodeToString(sum[:6])
}

// persist saves the state with the events that led to it, as a pass or the end
// of an attempt asked for.
func (g *Governor) persist(ctx context.Context, events ...collection.Event) error {
	defer g.desk.Saved()
	return g.keep(ctx, func() []byte { return g.desk.State(false) }, events...)
}

// keep saves a state in the order of states.
func (g *Governor) keep(ctx context.Context, state func() []byte, events ...collection.Event) error {
	g.saveOrder.Lock()
	defer g.saveOrder.Unlock()
	if g.save == nil {
		return nil
	}
	err := g.save(context.WithoutCancel(ctx), state(), g.history(events)...)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("saving the pace of %s: %w", g.provider.Name, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.broken = err
	}
	return err
}

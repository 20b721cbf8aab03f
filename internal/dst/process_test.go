package dst_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing"
	"collect/runner"
	"collect/store"
)

// A process is one execution of the product, as cmd makes it, from opening the
// store to closing it.
type process struct {
	h       *history
	number  int
	name    string
	session session
	budget  *pacing.Budget
	cancel  context.CancelFunc
	zombie  bool // another process may take the lease from it

	mu       sync.Mutex
	dead     bool
	gone     time.Time // when a killed process has taken the steps that it had begun
	fenced   bool
	epoch    int64         // of its lease
	wakes    time.Time     // when a process that was stopped goes on
	over     chan struct{} // closed when it is killed
	asked    chan struct{} // has something if a request was sent since it was looked at
	writes   int
	commits  int
	requests int64
	readable string          // what was answered well last,
	witness  string          // and what of that is asked for once more
	answered map[string]bool // the streams that were answered well, and whether a web page was among that; like the two before it guarded by the wire
	others   sync.WaitGroup  // the process that it makes another start
	after    *end            // how that one ended
}

// Bounds of one process, far beyond what any of these histories needs: one
// that reaches them would go on for ever. (I13.)
const (
	mostRequests = 4000
	longestRun   = 30 * 24 * time.Hour
)

// An end is how a process ended.
type end struct {
	run  collection.Run
	err  error
	owed []store.OwnedGap
	held bool
	dead bool
}

// execute runs a process to its end.
func (h *history) execute(s session, mayBeHeld bool) end {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.mu.Lock()
	h.processes++
	p := &process{h: h, number: h.processes, name: fmt.Sprintf("p%d", h.processes), session: s, cancel: cancel, over: make(chan struct{}), asked: make(chan struct{}, 1)}
	h.mu.Unlock()
	p.budget = pacing.NewBudget(pacing.BudgetLimits{MaxRequests: s.cap, MaxTime: s.maxTime})
	h.note("%s starts: %+v", p.name, s)

	alone := h.plan.chance(p.number, "opens its own store") < 0.1
	db, own, err := h.stage.enter(ctx, alone)
	if err != nil {
		h.violate("%s: open: %v", p.name, err)
		return end{err: err}
	}
	if own {
		h.count("store opened")
	}
	e := p.run(ctx, db, mayBeHeld)
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	time.Sleep(time.Until(gone))
	h.leave(p)
	p.others.Wait()
	if p.after != nil && !p.after.held {
		e = *p.after // it had the lease last
	}
	if err := h.stage.leave(db); err != nil {
		h.violate("%s: close: %v", p.name, err)
	}
	h.note("%s ends: %s %s %v, killed %t, held %t", p.name, e.run.Outcome, e.run.Reason, e.err, e.dead, e.held)
	return e
}

// domain names the account of the provider in these histories.
var domain = pacing.Domain("sim", "", nil)

func (p *process) run(ctx context.Context, db keeper, mayBeHeld bool) end {
	h := p.h
	connector := h.connector
	learned, err := db.Provider(ctx, domain)
	if err != nil {
		return end{err: err}
	}
	run := collection.Run{ID: p.name, Connector: "sim", Mode: p.session.mode, Lane: p.session.lane, Domain: domain, StartedAt: time.Now()}
	real, err := h.bug.keeper(p, db).Begin(ctx, run, connector.Streams())
	if err != nil {
		if _, held := errors.AsType[*store.HeldError](err); held && mayBeHeld {
			h.count("held by another")
			return end{held: true}
		}
		h.violate("I7: %s cannot begin: %v", p.name, err)
		return end{err: err}
	}
	defer func() {
		// What the kernel does for a process that ends.
		if err := real.(interface{ Abandon() error }).Abandon(); err != nil {
			h.violate("%s: abandon: %v", p.name, err)
		}
	}()
	h.began(real.Epoch())
	p.setEpoch(real.Epoch())
	h.waits.begin(run.StartedAt)
	h.join(p)
	if h.wire.holding() {
		h.count("began inside a silence")
	}
	below := &ledger{Ledger: h.bug.below(p, real), p: p, unread: map[collection.Place]collection.Cursor{}}
	r, err := runner.New(runner.Config{
		Connector: h.bug.connector(watched{connector, p}), Ledger: h.bug.above(p, below), Run: run,
		Concurrency: p.session.concurrency, Budget: p.budget, Domain: domain,
		Learned: h.bug.learned(learned), Base: h.bug.transport(conn{h.wire, p}), Random: h.plan.dice(p.number),
		Observe: p.hears,
	})
	if err != nil {
		h.violate("%s: %v", p.name, err)
		return end{err: err}
	}
	stop := p.schedule()
	done, err := r.Do(ctx)
	stop()
	if p.isDead() {
		return end{run: run, dead: true}
	}
	p.checkTally(done)
	owed, readErr := db.Gaps(context.WithoutCancel(ctx), "sim")
	err = errors.Join(err, readErr)
	var gaps []collection.Gap
	for _, gap := range owed {
		if h.bug.sees(gap.Gap) {
			gaps = append(gaps, gap.Gap)
		}
	}
	done.Outcome = collection.OutcomeOf(done, gaps)
	if err != nil {
		done.Outcome = collection.Failed
		p.checkError(err)
	}
	if failed := below.Finish(context.WithoutCancel(ctx), done); failed != nil && err == nil {
		err, done.Outcome = failed, collection.Failed
	}
	return end{run: done, err: err, owed: owed, dead: p.isDead()}
}

// checkTally compares what the run says it sent with what left it.
func (p *process) checkTally(done collection.Run) {
	if got, want := done.Tally.Requests, p.sent(); got < want {
		p.h.violate("I10: %s counted %d requests and sent %d", p.name, got, want)
	}
}

// checkError sees to it that a run fails only for reasons it was given.
func (p *process) checkError(err error) {
	for _, known := range []error{errDisk, collection.ErrFull, collection.ErrUnknown} {
		if errors.Is(err, known) {
			return
		}
	}
	if errors.Is(err, collection.ErrFenced) && p.zombie {
		p.h.count("fenced")
		if p.slept() {
			p.h.count("fenced after a sleep")
		}
		return
	}
	p.h.violate("%s failed: %v", p.name, err)
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) isFenced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fenced || p.zombie
}

// lostLease reports whether another process has taken the lease since.
func (p *process) lostLease() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.epoch < p.h.newestEpoch()
}

func (p *process) setEpoch(epoch int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch = epoch
}

func (p *process) setFenced() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fenced = true
}

func (p *process) cap() int64 { return p.session.cap }

func (p *process) sent() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func (p *process) nextWrite() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	return p.writes
}

func (p *process) nextCommit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits++
	return p.commits
}

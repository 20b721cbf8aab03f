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
	fenced   bool
	epoch    int64         // of its lease
	wakes    time.Time     // when a process that was stopped goes on
	over     chan struct{} // closed when it is killed
	asked    chan struct{} // has something if a request was sent since it was looked at
	writes   int
	commits  int
	requests int64
	others   sync.WaitGroup // the process that it makes another start
	after    *end           // how that one ended
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
	done.Outcome = runner.Verdict(done, gaps)
	if err != nil {
		done.Outcome = collection.Failed
		p.checkError(err)
	}
	if failed := below.Finish(context.WithoutCancel(ctx), done); failed != nil && err == nil {
		err, done.Outcome = failed, collection.Failed
	}
	return end{run: done, err: err, owed: owed, dead: p.isDead()}
}

// schedule arranges for what happens at a time.
func (p *process) schedule() (stop func()) {
	guard := time.AfterFunc(longestRun, func() {
		p.h.violate("I13: %s does not end in %v", p.name, longestRun)
		p.kill("too long")
	})
	killer := func() bool { return true }
	if p.session.killAt > 0 {
		killer = time.AfterFunc(p.session.killAt, func() {
			p.h.count("killed at a time")
			p.kill("at a time")
		}).Stop
	}
	return func() { guard.Stop(); killer() }
}

// onRequest makes happen what the session has in mind for a request.
func (p *process) onRequest() {
	p.mu.Lock()
	p.requests++
	n := int(p.requests)
	p.mu.Unlock()
	select {
	case p.asked <- struct{}{}:
	default:
	}
	switch n {
	case p.session.interrupt:
		p.h.count("interrupted")
		p.budget.Interrupt()
	case p.session.cancel:
		p.h.count("cancelled")
		p.cancel()
	case p.session.killRequest:
		p.h.count("killed in flight")
		p.kill("in flight")
	case mostRequests:
		p.h.violate("I13: %s sent %d requests", p.name, n)
		p.kill("too many requests")
	}
	if n == p.session.step {
		p.h.stepClock(p, p.session.stepBy)
	}
	if n == p.session.second {
		p.startAnother()
	}
	if n == p.session.stop {
		p.sleep(p.session.asleep)
	}
}

// sleep stops the process, as SIGSTOP or a lid that is closed does: until it
// wakes, it takes no step that anybody could see. Its clock goes on.
func (p *process) sleep(d time.Duration) {
	p.h.count("stopped")
	p.h.note("%s is stopped for %v", p.name, d)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wakes = time.Now().Add(d)
}

// awake returns when the process is not stopped, or not any more, and it is the
// turn of a step.
func (p *process) awake(step ...string) {
	p.mu.Lock()
	wakes := p.wakes
	p.mu.Unlock()
	if !time.Now().Before(wakes) {
		return
	}
	select {
	case <-time.After(time.Until(wakes)):
		p.h.order.wait(sumOf("order ", p.name, " wakes and ").with(step...))
	case <-p.over:
	}
}

// slept reports whether the process was ever stopped.
func (p *process) slept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.wakes.IsZero()
}

// startAnother starts a second process beside p. Where it steals, somebody has
// removed the file of the lock: the kernel no longer keeps them apart, and the
// epoch must.
func (p *process) startAnother() {
	if p.session.steal {
		p.h.count("lock stolen")
		p.mu.Lock()
		p.zombie = true
		p.mu.Unlock()
		p.h.stage.unlock()
	}
	other := session{mode: collection.Forward, lane: collection.Incremental, concurrency: 1}
	if len(p.session.others) > 0 {
		other = p.session.others[0]
	}
	p.others.Go(func() {
		time.Sleep(other.pause)
		e := p.h.execute(other, !p.session.steal || other.pause > 0)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.after = &e
	})
}

// beside counts a trouble of a process that is not alone: another one began
// after it, or had begun before it.
func (p *process) beside(trouble string) {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	if len(p.h.running) > 1 {
		p.h.counts[trouble+" beside another run"]++
	}
}

// kill ends the process: nothing it does has an effect any more.
func (p *process) kill(why string) {
	p.h.note("%s killed %s", p.name, why)
	p.beside("killed")
	p.mu.Lock()
	if !p.dead {
		p.dead = true
		close(p.over)
	}
	p.mu.Unlock()
	p.cancel()
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

// Package desk gives turns at one gate, in order of arrival, but for a request that finds out what the others wait for.
// Several processes take turns.
//
// Attempts that ask to leave stand in one line, whatever they wait for: those of
// one run, or of all processes that share an account. A [Desk] asks the gate for each of them, sleeps for all of them with
// one timer, and lets them go:
//
//	Enter ──→ line ──plan──→ (the one wait) ──→ Pass ──→ … ──→ Settle
//
// It is the only place that waits. What an [Asker] has to say, its budgets, is
// asked at the moment of admission and never before.
package desk

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/pacing/law"
)

// An Asker is the run that a turn belongs to. It is called with the desk
// locked, so it must be quick, and must not call the desk.
type Asker interface {
	// Ended returns why nothing of the run may leave any more; nil if it may.
	Ended(now time.Time) error

	// Spent returns which budget of the run is used up; nil if none is. It is
	// told after what the gate says, which lasts longer.
	Spent(now time.Time) error

	// Admit charges t to the budgets of the run, and returns why it cannot.
	// retries says whether a repeated request is a retry; the probe of an open
	// breaker is none.
	Admit(t *Turn, retries bool, now time.Time) error

	// Waits notes that t waits as p says, and Waited that it does no more.
	Waits(t *Turn, p gate.Plan, now time.Time)
	Waited(t *Turn, now time.Time)
}

// A Turn is an attempt that asks to leave. It is used once.
type Turn struct {
	Asker   Asker
	Request gate.Request
	Paid    bool            // and this retry has its token
	Stream  string          // for those who watch
	Over    <-chan struct{} // closed when Asker.Ended may have changed; nil: never

	Cause collection.WaitCause // what it waits for; "" for a slot in flight
	From  time.Time            // and since when
	Slept bool                 // it has waited

	since time.Time     // when it came
	until time.Time     // when its plan is looked at again; zero: when something changes
	done  chan struct{} // closed when pass or err is set
	pass  gate.Pass
	err   error
}

// A Desk is one gate with its line. It is safe for concurrent use.
type Desk struct {
	mu     sync.Mutex
	gate   *gate.Gate
	line   []*Turn // in the order of their turns
	timer  *time.Timer
	saving int // saves under way; nothing leaves meanwhile
	ended  error
}

// New returns a desk at g, which is its own from now on.
func New(g *gate.Gate) *Desk { return &Desk{gate: g} }

// Enter waits for the turn of t, which ends with a pass, with the error of its
// asker, with a *collection.Stop of the gate, or with the cause of ctx. If the
// pass says so, the state must be saved before the request leaves, and Saved
// be called: nothing else leaves meanwhile.
func (d *Desk) Enter(ctx context.Context, t *Turn) (gate.Pass, error) {
	if ctx.Err() != nil {
		return gate.Pass{}, context.Cause(ctx)
	}
	d.mu.Lock()
	t.since = time.Now()
	if len(d.line) == 0 && d.decide(t, t.since) {
		d.mu.Unlock()
		return t.pass, t.err
	}
	t.done = make(chan struct{})
	d.line = slices.Insert(d.line, d.place(&t.Request), t)
	d.dispatch(t.since)
	d.mu.Unlock()

	select {
	case <-t.done:
	case <-t.Over:
		d.Look()
		select {
		case <-t.done:
		case <-ctx.Done():
			return d.withdraw(ctx, t)
		}
	case <-ctx.Done():
		return d.withdraw(ctx, t)
	}
	t.Slept = time.Now().After(t.since)
	return t.pass, t.err
}

// place returns where in the line r stands: behind those of its own process, and before those of another one
// that has more before it. A process that asks for one page after the other would otherwise wait each time for all that one
// with many requests at once has in line.
func (d *Desk) place(r *gate.Request) int {
	if r.Ahead {
		return 0
	}
	own := 0
	for _, t := range d.line {
		if t.Request.Party == r.Party {
			own++
		}
	}
	if own == len(d.line) {
		return own
	}
	before := map[int]int{}
	for i, t := range d.line {
		if before[t.Request.Party]++; before[t.Request.Party] > own+1 {
			return i
		}
	}
	return len(d.line)
}

// withdraw takes t out of the line, unless it has had its turn.
func (d *Desk) withdraw(ctx context.Context, t *Turn) (gate.Pass, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.line, t)
	if i < 0 {
		return t.pass, t.err
	}
	now := time.Now()
	d.line = slices.Delete(d.line, i, i+1)
	t.Asker.Waited(t, now)
	d.dispatch(now)
	return gate.Pass{}, context.Cause(ctx)
}

// End ends the wait of every turn in line, and of those that come later, with err:
// the gate decides for none of them any more.
func (d *Desk) End(err error) {
	d.mu.Lock()
	d.ended = err
	d.dispatch(time.Now())
	d.mu.Unlock()
}

// Look asks again for everybody in line, because something outside of the
// desk has changed.
func (d *Desk) Look() {
	d.mu.Lock()
	d.dispatch(time.Now())
	d.mu.Unlock()
}

// dispatch gives everybody in line who may leave at now their turn, and sets
// the timer for the next. d.mu is held.
func (d *Desk) dispatch(now time.Time) {
	var wake time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	d.line = slices.DeleteFunc(d.line, func(t *Turn) bool {
		if d.decide(t, now) {
			close(t.done)
			return true
		}
		sooner(t.until)
		sooner(t.Request.Deadline)
		return false
	})
	switch {
	case len(d.line) == 0 || wake.IsZero():
		if d.timer != nil {
			d.timer.Stop()
		}
	case d.timer == nil:
		d.timer = time.AfterFunc(wake.Sub(now), d.Look)
	default:
		d.timer.Reset(wake.Sub(now))
	}
}

// decide ends t's wait, with a pass or an error, or reports false and says
// until when it goes on. d.mu is held.
func (d *Desk) decide(t *Turn, now time.Time) bool {
	if t.err = cmp.Or(d.ended, t.Asker.Ended(now)); t.err == nil {
		spent := t.Asker.Spent(now)
		p := d.gate.Plan(&t.Request, now)
		switch {
		case p.Stop != nil:
			t.err = p.Stop
		case spent != nil:
			t.err = spent
		case !p.Ready || d.saving > 0:
			t.until = p.Until
			t.Asker.Waits(t, p, now)
			return false
		default:
			t.err = d.admit(t, now)
		}
	}
	t.Asker.Waited(t, now)
	return true
}

// admit lets t leave, if its budgets allow it.
func (d *Desk) admit(t *Turn, now time.Time) error {
	if err := t.Asker.Admit(t, d.gate.Closed(), now); err != nil {
		return err
	}
	t.pass = d.gate.Leave(&t.Request, now)
	if t.pass.Save {
		d.saving++
	}
	return nil
}

// Settled is what the end of an attempt led to.
type Settled struct {
	Changes []collection.Event // of the pace, the breaker and the freeze
	Save    bool               // the state must be saved, and Saved be called

	Rate, Most float64          // the pace, and the highest there can be
	Closed     bool             // the breaker is
	OpenUntil  time.Time        // when it lets a probe out; zero: it is closed
	HoldUntil  time.Time        // the provider asked for silence until then; zero: it did not
	Frozen     *collection.Stop // why nothing may leave; nil if it may
	Refused    *collection.Stop // why no wait of this run would help; nil if one would
	Next       *collection.Stop // why another attempt cannot be waited for; nil if it can
}

// Settle records what became of an attempt. next is the attempt that would
// follow one that was not a success.
func (d *Desk) Settle(p gate.Pass, o gate.Outcome, next gate.Request) Settled {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	var s Settled
	s.Changes, s.Save = d.gate.Settle(now, p, &o)
	s.Rate, s.Most, s.Closed = d.gate.Rate(), d.gate.Most(), d.gate.Closed()
	s.OpenUntil, s.HoldUntil = d.gate.OpenUntil(), d.gate.HoldUntil(now)
	s.Frozen = d.gate.Frozen()
	if o.Signal != law.Succeeded {
		s.Refused = d.gate.Refuse(&next, now)
		s.Next = d.gate.Plan(&next, now).Stop
	}
	if s.Save {
		d.saving++
		return s
	}
	d.dispatch(now)
	return s
}

// Adopt returns a pass for a request that left under another desk of the same
// account, by a process that uses the gate, so that it counts here, too.
func (d *Desk) Adopt(who int) gate.Pass {
	d.mu.Lock()
	defer d.mu.Unlock()
	pass := d.gate.Leave(&gate.Request{Party: who}, time.Now())
	if pass.Save {
		d.saving++
	}
	return pass
}

// Share lets another process use the gate: see [gate.Gate.Share].
func (d *Desk) Share(ceilings []collection.Ceiling, concurrency int) (who int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	who = d.gate.Share(ceilings, concurrency)
	d.dispatch(time.Now())
	return who
}

// Part notes that a process uses the gate no more.
func (d *Desk) Part(who int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate.Part(who)
	d.dispatch(time.Now())
}

// Obey takes an operator's order: see [gate.Gate.Obey].
func (d *Desk) Obey(state []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	err := d.gate.Obey(state, now)
	d.dispatch(now)
	return err
}

// State returns what must be known in a later process. last says that this
// one will send no more.
func (d *Desk) State(last bool) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last {
		d.gate.SettleUp()
	}
	return d.gate.Snapshot(time.Now())
}

// Saved ends a save: what waited for it goes on.
func (d *Desk) Saved() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saving--
	d.dispatch(time.Now())
}

// Status returns how things stand.
func (d *Desk) Status() gate.Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gate.Status(time.Now())
}

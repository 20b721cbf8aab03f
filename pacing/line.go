package pacing

import (
	"cmp"
	"context"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/gate"
)

// toldWait is the length from which a wait is told: a person notices it.
const toldWait = 500 * time.Millisecond

// A turn is an attempt that asks to leave.
type turn struct {
	stream    string
	notBefore time.Time // the end of its backoff
	retry     bool      // the same request was sent before
	paid      bool      // and this retry has its token

	since time.Time            // when it came
	until time.Time            // when its plan is looked at again; zero: when something changes
	cause collection.WaitCause // what it waits for; "" for a slot in flight
	from  time.Time            // and since when
	done  chan struct{}        // closed when pass or err is set
	pass  gate.Pass
	err   error
}

// request returns what the gate is asked for t, in a run that ends at deadline.
func (t *turn) request(deadline time.Time) gate.Request {
	return gate.Request{NotBefore: t.notBefore, Deadline: deadline}
}

// enter waits for the turn of an attempt. This is the only wait of an attempt:
// all reasons to wait are one plan, made anew when something changes.
func (g *Governor) enter(ctx context.Context, t *turn) (gate.Pass, error) {
	if err := ctx.Err(); err != nil {
		return gate.Pass{}, context.Cause(ctx)
	}
	g.mu.Lock()
	t.since = time.Now()
	if len(g.line) == 0 && g.decide(t, t.since) {
		g.unlock()
		g.count(0)
		return t.pass, t.err
	}
	t.done = make(chan struct{})
	g.line = append(g.line, t)
	g.dispatch(t.since)
	g.unlock()

	select {
	case <-t.done:
	case <-g.budget.ended:
		g.redispatch()
		<-t.done // nobody is admitted any more, so this turn has ended, too
	case <-ctx.Done():
		if g.withdraw(t) {
			return gate.Pass{}, context.Cause(ctx)
		}
	}
	if time.Now().After(t.since) {
		g.count(1)
	} else {
		g.count(0)
	}
	return t.pass, t.err
}

func (g *Governor) count(waits int) {
	if g.probe != nil {
		g.probe(waits)
	}
}

// withdraw takes t out of the line. It reports false if t has had its turn.
func (g *Governor) withdraw(t *turn) bool {
	g.mu.Lock()
	defer g.unlock()
	i := slices.Index(g.line, t)
	if i < 0 {
		return false
	}
	now := time.Now()
	g.line = slices.Delete(g.line, i, i+1)
	g.endWait(t, now)
	g.dispatch(now)
	return true
}

func (g *Governor) redispatch() {
	g.mu.Lock()
	g.dispatch(time.Now())
	g.unlock()
}

// dispatch gives everybody in line who may leave at now their turn, and sets
// the timer for the next. g.mu is held.
func (g *Governor) dispatch(now time.Time) {
	var wake time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	g.line = slices.DeleteFunc(g.line, func(t *turn) bool {
		if g.decide(t, now) {
			close(t.done)
			return true
		}
		sooner(t.until)
		return false
	})
	if len(g.line) == 0 {
		if g.timer != nil {
			g.timer.Stop()
		}
		return
	}
	sooner(g.budget.deadline(now))
	switch {
	case wake.IsZero():
	case g.timer == nil:
		g.timer = time.AfterFunc(wake.Sub(now), g.redispatch)
	default:
		g.timer.Reset(wake.Sub(now))
	}
}

// decide ends t's wait, with a pass or an error, or reports false and says
// until when it goes on. g.mu is held.
func (g *Governor) decide(t *turn, now time.Time) bool {
	deadline := g.budget.deadline(now)
	if g.broken != nil {
		t.err = g.broken
	} else if reason := g.budget.over(now); reason == collection.Interrupted {
		t.err = g.stopped(&collection.Stop{Reason: reason}, now, t.stream)
	} else if p := g.gate.Plan(t.request(deadline), now); p.Stop != nil {
		t.err = g.stopped(p.Stop, now, t.stream)
	} else if reason != "" {
		t.err = g.stopped(&collection.Stop{Reason: reason}, now, t.stream)
	} else if !p.Ready || g.saving > 0 {
		g.wait(t, p, now)
		return false
	} else {
		t.err = g.admit(t, now)
	}
	g.endWait(t, now)
	return true
}

// admit lets t leave, if its budgets allow it. The probe of an open breaker is
// no retry, whatever was thought of it before.
func (g *Governor) admit(t *turn, now time.Time) error {
	retry := t.retry && g.gate.Closed()
	if retry && !t.paid && !g.budget.takeToken() {
		return g.stopped(&collection.Stop{Reason: collection.RetryBudget}, now, t.stream)
	}
	if !g.budget.reserve(retry) {
		reason := cmp.Or(g.budget.over(now), collection.RequestCap)
		return g.stopped(&collection.Stop{Reason: reason}, now, t.stream)
	}
	if t.paid && !retry {
		g.budget.returnToken()
	}
	t.pass = g.gate.Leave(t.request(time.Time{}), now)
	t.pass.Retry = t.retry
	for i, e := range t.pass.Change {
		t.pass.Change[i] = g.tell(e, now, t.stream)
	}
	if t.pass.Save && g.save != nil {
		g.saving++
	} else {
		t.pass.Save = false
	}
	return nil
}

// stopped tells of a budget that is used up, once in a run.
func (g *Governor) stopped(stop *collection.Stop, now time.Time, stream string) *collection.Stop {
	if limit, ok := g.budget.limit(stop.Reason); ok && g.budget.firstTold(stop.Reason) {
		g.tell(collection.Event{Kind: collection.BudgetExhausted,
			Budget: &collection.BudgetInfo{Axis: stop.Reason, Limit: limit}}, now, stream)
	}
	return stop
}

// wait notes what t waits for, and tells it if nobody's wait is told.
func (g *Governor) wait(t *turn, p gate.Plan, now time.Time) {
	t.until = p.Until
	if p.Cause != t.cause {
		g.endWait(t, now)
		t.cause, t.from = p.Cause, now
	}
	if g.announced == nil && p.Cause != "" && p.Until.Sub(now) > toldWait {
		g.announced = t
		g.tell(collection.Event{Kind: collection.WaitStarted, Wait: &collection.WaitInfo{
			Cause: p.Cause, Seconds: p.Until.Sub(now).Seconds(), Until: p.Until,
		}}, now, t.stream)
	}
}

// endWait accounts for the wait of t, except for the part in which another
// attempt waited as well.
func (g *Governor) endWait(t *turn, now time.Time) {
	if t.cause == "" {
		return
	}
	if g.announced == t {
		g.announced = nil
		g.tell(collection.Event{Kind: collection.WaitEnded, Wait: &collection.WaitInfo{
			Cause: t.cause, Seconds: now.Sub(t.from).Seconds(), Until: now,
		}}, now, t.stream)
	}
	from := t.from
	if g.accounted.After(from) {
		from = g.accounted
	}
	if now.After(from) {
		g.budget.addWait(t.cause, now.Sub(from))
		g.accounted = now
	}
}

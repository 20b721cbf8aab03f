package pacing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"collect/collection"
	"collect/pacing/desk"
	"collect/pacing/gate"
)

// toldWait is the length from which a wait is told: a person notices it.
const toldWait = 500 * time.Millisecond

// enter waits for the turn of an attempt. This is the only wait of an attempt.
func (g *Governor) enter(ctx context.Context, t *desk.Turn) (gate.Pass, error) {
	t.Asker, t.Over = asker{g}, g.budget.ended
	t.Request.Deadline = g.budget.deadline(time.Now())
	g.waiting.Add(1)
	p, err := g.desk.Enter(ctx, t)
	g.waiting.Add(-1)
	if g.probe != nil {
		waits := 0
		if t.Slept {
			waits = 1
		}
		g.probe(waits)
	}
	g.entered(t, p, err)
	return p, err
}

// entered tells what the end of the wait of t led to.
func (g *Governor) entered(t *desk.Turn, p gate.Pass, err error) {
	g.mu.Lock()
	now := time.Now()
	if p.Change != nil {
		*p.Change = g.tell(*p.Change, now, t.Stream)
	}
	if stop, ok := errors.AsType[*collection.Stop](err); ok {
		g.stopped(stop, now, t.Stream)
	}
	g.unlock()
}

// stopped tells of a budget that is used up, once in a run. A request cap until a
// time is a ceiling, and none of the run's own budgets. g.mu is held.
func (g *Governor) stopped(stop *collection.Stop, now time.Time, stream string) *collection.Stop {
	if limit, ok := g.budget.limit(stop.Reason); ok && (stop.NotBefore.IsZero() || stop.Reason == collection.WallClock) && g.budget.firstTold(stop.Reason) {
		g.tell(collection.Event{Kind: collection.BudgetExhausted,
			Budget: &collection.BudgetInfo{Axis: stop.Reason, Limit: limit}}, now, stream)
	}
	return stop
}

// An asker is a Governor as its desk sees it: see [desk.Asker].
type asker struct{ *Governor }

func (g asker) Ended(now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if stop, ok := errors.AsType[*collection.Stop](g.broken); ok {
		again := *stop // each request says in its own what it waited for
		return &again
	}
	if g.broken != nil {
		return g.broken
	}
	if g.budget.over(now) == collection.Interrupted {
		return &collection.Stop{Reason: collection.Interrupted}
	}
	return nil
}

func (g asker) Spent(now time.Time) error {
	if reason := g.budget.over(now); reason != "" {
		return &collection.Stop{Reason: reason}
	}
	return nil
}

// Admit charges an attempt. The probe of an open breaker is no retry, whatever
// was thought of it before.
func (g asker) Admit(t *desk.Turn, retries bool, now time.Time) error {
	retry := t.Request.Retry && retries
	if retry && !t.Paid && !g.budget.takeToken() {
		return &collection.Stop{Reason: collection.RetryBudget}
	}
	if !g.budget.reserve(retry) {
		return &collection.Stop{Reason: cmp.Or(g.budget.over(now), collection.RequestCap)}
	}
	if t.Paid && !retry {
		g.budget.returnToken()
	}
	return nil
}

// Waits notes what t waits for, and tells it unless the wait of another turn is
// told already. A wait that became longer is told again.
func (g asker) Waits(t *desk.Turn, p gate.Plan, now time.Time) {
	g.mu.Lock()
	defer g.unlockLater()
	if p.Cause != t.Cause || g.announced == t && p.Until.Sub(g.ends) > toldWait {
		g.endWait(t, now)
		if t.Cause, t.From = p.Cause, now; t.Cause != "" {
			g.waits = append(g.waits, t)
		}
	}
	if g.announced == nil && p.Cause != "" && p.Until.Sub(now) > toldWait {
		g.announced, g.ends = t, p.Until
		g.tell(collection.Event{Kind: collection.WaitStarted, Wait: &collection.WaitInfo{
			Cause: p.Cause, Seconds: p.Until.Sub(now).Seconds(), Until: p.Until,
		}}, now, t.Stream)
	}
}

func (g asker) Waited(t *desk.Turn, now time.Time) {
	g.mu.Lock()
	defer g.unlockLater()
	g.endWait(t, now)
}

// endWait accounts for the wait of t, except for the part in which another
// attempt waited as well. g.mu is held.
func (g *Governor) endWait(t *desk.Turn, now time.Time) {
	if t.Cause == "" {
		return
	}
	if g.announced == t {
		g.announced = nil
		g.tell(collection.Event{Kind: collection.WaitEnded, Wait: &collection.WaitInfo{
			Cause: t.Cause, Seconds: now.Sub(t.From).Seconds(), Until: now,
		}}, now, t.Stream)
	}
	g.countWait(t, now)
	g.waits = slices.DeleteFunc(g.waits, func(w *desk.Turn) bool { return w == t })
	t.Cause = ""
}

// countWait adds to the budget what t has waited until now and no other attempt has. g.mu is held.
func (g *Governor) countWait(t *desk.Turn, now time.Time) {
	from := t.From
	if g.accounted.After(from) {
		from = g.accounted
	}
	if now.After(from) {
		g.budget.addWait(t.Cause, now.Sub(from))
		g.accounted = now
	}
}

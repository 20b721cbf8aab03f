package fleet

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/report"
	"collect/report/problem"
	"collect/store"
)

// A back is how long it takes until a turn is due again that was not done, for any worker.
type back struct{ after time.Duration }

// takeTurns takes turns and does them until ctx ends or the worker drains, and returns when all
// are over.
func (w *Worker) takeTurns(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.drains:
			return
		case <-w.mayTake:
		}
		n := w.free()
		if n == 0 {
			continue // a turn that ends looks again
		}
		taken, err := w.takeDue(ctx, n)
		if err != nil {
			continue // the next beat looks again
		}
		for _, t := range taken {
			draining := w.take(t.id, nil)
			all.Go(func() { w.do(ctx, t, draining) })
		}
	}
}

// do does a turn, or puts it back. What cannot be put back, as the server does not answer, beats find:
// it is not in hand any more.
func (w *Worker) do(ctx context.Context, t turn, draining bool) {
	defer w.look()
	defer w.drop(t.id)
	later := &back{} // for another worker
	if !draining {
		later = w.work(ctx, t)
	}
	if later != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = w.succeed(ctx, t, time.Now().Add(later.after), true)
	}
}

// work does a turn; nil says that it is over.
func (w *Worker) work(ctx context.Context, t turn) (later *back) {
	defer func() {
		if value := recover(); value != nil {
			w.Say(Event{Kind: TurnEnded, Worker: w.id, Connector: t.connector, Err: &problem.PanicError{Value: value, Stack: debug.Stack()}})
			later = &back{againAfter}
		}
	}()
	target, err := w.resolve(ctx, t.connector)
	if err != nil {
		return w.left(t, err)
	}
	run, ended, err := w.run(ctx, t.id, target)
	if err != nil {
		return w.refused(ctx, t, err)
	}
	return w.handOver(ctx, t, run, ended)
}

// left leaves a turn to the others, as this worker lacks what it takes.
func (w *Worker) left(t turn, err error) *back {
	w.mu.Lock()
	w.lacks[t.connector] = Lack{Why: whyLeft(err), Until: time.Now().Add(lackedFor)}
	w.mu.Unlock()
	w.sayOnce(Event{Kind: TurnLeft, Worker: w.id, Connector: t.connector, Err: err})
	return &back{}
}

// whyLeft says why a turn is left to others, for all who see the database: an error may quote a file, and
// with it a secret, so that its words stay in the log of this worker.
func whyLeft(err error) string {
	code, text := problem.CodeOf(err), "its file or a secret cannot be used here, as the log of the worker says"
	switch code {
	case "E0201", "E0207":
		text = "no file of it here"
	case "E0302":
		text = "its secret is missing here, or cannot be used"
	case "E0209":
		text = "its file here does not go with what was collected"
	}
	return text + " (" + code + ")"
}

// resolve finds a connector, which may take a command that prints a secret: it is asked anew
// in each turn, as the secret may be another one.
func (w *Worker) resolve(ctx context.Context, connector string) (registry.Target, error) {
	w.resolving.Lock()
	defer w.resolving.Unlock()
	clear(w.Registry.Printed)
	return w.Registry.Resolve(ctx, connector, nil)
}

// run does the run of a turn. An error is one that kept it from beginning.
func (w *Worker) run(ctx context.Context, id int64, target registry.Target) (run *engine.Run, ended engine.Ended, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &problem.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	c := w.Each
	c.Target, c.Options.Since = target, time.Now()
	if c.Options.MaxTime == 0 || c.Options.MaxTime > w.Turn {
		c.Options.MaxTime = w.Turn
	}
	c.Begun = func() error {
		w.mu.Lock()
		delete(w.lacks, target.Name)
		w.mu.Unlock()
		w.Say(Event{Kind: TurnBegun, Worker: w.id, Connector: target.Name})
		return nil
	}
	run = engine.New(c)
	if w.take(id, run) {
		run.HandOver() // it ends before it asks for anything
	}
	ended, err = run.Do(ctx)
	return run, ended, err
}

// refused says what becomes of a turn whose run did not begin.
func (w *Worker) refused(ctx context.Context, t turn, err error) *back {
	holder, held := errors.AsType[*store.HeldError](err)
	_, paused := errors.AsType[*problem.PausedError](err)
	switch {
	case held && holder.Left > 0:
		return &back{min(holder.Left, heldFor)}
	case held:
		return &back{heldFor}
	case paused:
		return &back{againAfter}
	case ctx.Err() != nil, errors.Is(err, store.ErrLocked):
		return &back{}
	case errors.Is(err, store.ErrUnreachable), errors.Is(err, collection.ErrUnknown):
		w.serverThere(ctx)
		return &back{}
	case errors.Is(err, collection.ErrFull):
		w.Say(Event{Kind: TurnEnded, Worker: w.id, Connector: t.connector, Err: err, Next: time.Now().Add(againAfter)})
		return &back{againAfter}
	case problem.ExitOf(err) == problem.ExitConfig: // the files of another machine may be right
		return w.left(t, err)
	}
	// Nothing but a person helps; a schedule, or an order, tries it again.
	w.Say(Event{Kind: TurnEnded, Worker: w.id, Connector: t.connector, Err: err})
	if err := w.succeed(ctx, t, time.Time{}, false); err != nil && !errors.Is(err, errReplaced) {
		return &back{heldFor}
	}
	return nil
}

// handOver ends a turn that is over, and inserts the one after it, in one
// transaction: while work is left there is one row, never none. While the server does not answer
// it tries again.
func (w *Worker) handOver(ctx context.Context, t turn, run *engine.Run, ended engine.Ended) *back {
	e := Event{Kind: TurnEnded, Worker: w.id, Connector: t.connector, Run: ended.Run, Ran: run, Err: ended.Err}
	for {
		now, again := time.Now(), false
		said, err := run.Conclude(context.WithoutCancel(ctx), ended)
		if err == nil {
			e.Ended = &said
			e.Next, again = next(said.Summary, ended, now)
			err = w.succeed(context.WithoutCancel(ctx), t, e.Next, again)
			if errors.Is(err, errReplaced) {
				e.Next, err = time.Time{}, nil
			}
		}
		if err == nil {
			e.Next = w.wanted(context.WithoutCancel(ctx), t.connector, e.Next)
			w.Say(e)
			return nil
		}
		if !errors.Is(err, store.ErrUnreachable) && !errors.Is(err, store.ErrLocked) || !w.serverThere(ctx) {
			return &back{time.Second}
		}
	}
}

// serverThere waits until the server answers; false if the worker is to end before.
func (w *Worker) serverThere(ctx context.Context) bool {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if w.fleet.pool.Ping(ctx) == nil {
			return true
		}
	}
}

// next returns when the next turn of a connector is due; ok is false if none is needed
// until a schedule or a person wants one.
func next(said report.Summary, ended engine.Ended, now time.Time) (at time.Time, ok bool) {
	run := ended.Run
	later := func(t time.Time, least time.Duration) (time.Time, bool) {
		if t.After(now) {
			return t, true
		}
		return now.Add(least), true
	}
	switch {
	case ended.Err != nil && problem.ExitOf(ended.Err) == problem.ExitLater, errors.Is(ended.Err, collection.ErrFenced), errors.Is(ended.Err, context.Canceled):
		return later(said.NextAt, heldFor)
	case errors.Is(ended.Err, store.ErrUnreachable), errors.Is(ended.Err, collection.ErrUnknown):
		return now, true
	case errors.Is(ended.Err, collection.ErrFull): // somebody makes room, and has no reason to think of turns
		return later(said.NextAt, againAfter)
	case run.Reason == "" && ended.Err == nil:
		return nextOwed(ended.Owed, now)
	case run.Reason == collection.Interrupted: // handed over, or paused, which holds the next one back
		return now, true
	case run.Reason == collection.WallClock && run.Tally.Requests == 0:
		return later(said.NextAt, idleFor)
	case run.Reason == collection.WallClock:
		return later(said.NextAt, 0)
	case run.Reason == collection.RequestCap && said.NextAt.IsZero():
		return time.Time{}, false // the cap of a turn: what a person allows between two schedules
	case run.Reason == "", run.Reason.Kind() == collection.Stuck:
		return said.NextAt, said.NextAt.After(now) // a freeze that tries by itself
	}
	return later(said.NextAt, againAfter)
}

// nextOwed returns when the first of the pieces is due that need no person.
func nextOwed(owed []store.OwnedGap, now time.Time) (at time.Time, ok bool) {
	for _, gap := range owed {
		if gap.State != collection.GapOpen || gap.Kind() == collection.Stuck || gap.Settled() {
			continue
		}
		due := gap.NotBefore
		if !due.After(now) {
			due = now.Add(againAfter)
		}
		if !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}

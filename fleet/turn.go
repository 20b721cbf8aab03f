package fleet

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"collect/collection"
	"collect/engine"
	"collect/engine/registry"
	"collect/report"
	"collect/report/problem"
	"collect/store"
	"collect/store/postgres"
)

// turns is what River calls for each turn.
type turns struct {
	river.WorkerDefaults[Turn]
	of *Worker
}

// Work does one turn. What it returns is for River: nil where the job is over, a snooze where it
// waits, an error where the server did not answer.
func (t *turns) Work(ctx context.Context, job *river.Job[Turn]) error {
	w := t.of
	if w.take(job.ID, nil) {
		w.drop(job.ID)
		return river.JobSnooze(0) // for another worker
	}
	defer w.drop(job.ID)
	connector := job.Args.Connector
	target, err := w.resolve(ctx, connector)
	if err != nil {
		w.sayOnce(Event{Kind: TurnLeft, Worker: w.id, Connector: connector, Err: err})
		return river.JobSnooze(lackedFor)
	}
	run, ended, err := w.run(ctx, job.ID, target)
	if err != nil {
		return w.refused(ctx, job, err)
	}
	return w.handOver(ctx, job, run, ended)
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
func (w *Worker) run(ctx context.Context, job int64, target registry.Target) (run *engine.Run, ended engine.Ended, err error) {
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
		w.Say(Event{Kind: TurnBegun, Worker: w.id, Connector: target.Name})
		return nil
	}
	run = engine.New(c)
	if w.take(job, run) {
		run.HandOver() // it ends before it asks for anything
	}
	ended, err = run.Do(ctx)
	return run, ended, err
}

// refused says what becomes of a turn whose run did not begin.
func (w *Worker) refused(ctx context.Context, job *river.Job[Turn], err error) error {
	_, held := errors.AsType[*store.HeldError](err)
	_, paused := errors.AsType[*problem.PausedError](err)
	switch {
	case held:
		return river.JobSnooze(heldFor)
	case paused:
		return river.JobSnooze(againAfter)
	case ctx.Err() != nil, errors.Is(err, store.ErrLocked):
		return river.JobSnooze(0)
	case errors.Is(err, store.ErrUnreachable), errors.Is(err, collection.ErrUnknown):
		if !w.serverThere(ctx) {
			return err
		}
		return river.JobSnooze(0)
	}
	// Nothing but a person helps; a schedule, or an order, tries it again.
	w.Say(Event{Kind: TurnEnded, Worker: w.id, Connector: job.Args.Connector, Err: err})
	return nil
}

// handOver ends the job of a turn that is over, and inserts the one after it, in one
// transaction: while work is left there is one job, never none. While the server does not answer
// it tries again.
func (w *Worker) handOver(ctx context.Context, job *river.Job[Turn], run *engine.Run, ended engine.Ended) error {
	e := Event{Kind: TurnEnded, Worker: w.id, Connector: job.Args.Connector, Run: ended.Run, Ran: run, Err: ended.Err}
	for {
		now, again := time.Now(), false
		said, err := run.Conclude(context.WithoutCancel(ctx), ended)
		if err == nil {
			e.Ended = &said
			e.Next, again = next(said.Summary, ended, now)
			err = w.succeed(context.WithoutCancel(ctx), job, e.Next, again)
			if errors.Is(err, errReplaced) {
				e.Next, err = time.Time{}, nil
			}
		}
		if err == nil {
			w.Say(e)
			return nil
		}
		if !errors.Is(err, store.ErrUnreachable) && !errors.Is(err, store.ErrLocked) || !w.serverThere(ctx) {
			return err
		}
	}
}

// errReplaced says that a beat took a job for that of a dead worker. The one in its place
// goes on.
var errReplaced = errors.New("the turn was given out again")

// succeed ends a job and inserts the one after it, if there is to be one again.
func (w *Worker) succeed(ctx context.Context, job *river.Job[Turn], at time.Time, again bool) error {
	return w.fleet.change(ctx, func(tx postgres.Tx) error {
		done, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		switch {
		case errors.Is(err, rivertype.ErrNotFound), err == nil && done.State != rivertype.JobStateCompleted:
			return errReplaced
		case err != nil || !again:
			return err
		}
		if !at.After(time.Now()) {
			at = time.Time{}
		}
		return w.fleet.enqueue(ctx, tx, job.Args.Connector, at)
	})
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

// soon is how River tries a turn again whose worker met an error of the server.
type soon struct{}

// NextRetry implements [river.ClientRetryPolicy].
func (soon) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(time.Second) }

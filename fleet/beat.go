package fleet

import (
	"context"
	"errors"
	"time"

	"collect/report/problem"
	"collect/store/postgres"
)

// beats are what a worker remembers between two beats.
type beats struct {
	// ask asks on the session whose advisory lock says that the worker lives: the server
	// frees it when the process dies. nil: there is no session.
	ask    func(ctx context.Context, query string, args []any, into ...any) error
	wait   func(ctx context.Context) error // until the session hears that turns are due
	end    func()
	schema int64      // the version of the store's schema at the first beat
	since  *time.Time // of the first beat, by the clock of the server
}

// beat says that the worker is alive, and which turns it has in hand, and does what is due
// for all. It returns [problem.ErrUpgraded] if a newer version changed the tables, and a
// [*problem.ClockError] if the clock of this machine is off.
func (w *Worker) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(w.Beat, time.Second))
	defer cancel()
	if err := w.hold(ctx); err != nil {
		return err
	}
	turns, draining := w.turns()
	var server, since time.Time
	var least int
	var schema int64
	var todo found
	before := time.Now()
	err := w.beats.ask(ctx, beatQuery, []any{w.id, gone.Seconds(), lostAfter.Seconds(),
		w.Holder.Host, w.Holder.PID, w.Version, w.AtMost, draining, turns, w.lock(), w.beats.since, w.lacked(time.Now())}, &server, &least, &schema,
		&todo.orphans, &todo.schedules, &todo.due, &since)
	if err != nil {
		w.release()
		return err
	}
	if err := clockOff(server, before, time.Now()); err != nil {
		return err
	}
	if w.beats.schema == 0 {
		w.beats.schema, w.beats.since = schema, &since
	}
	if least > len(files()) || schema != w.beats.schema {
		return problem.ErrUpgraded
	}
	return w.upkeep(ctx, todo, draining)
}

// found is what a beat finds to do.
type found struct {
	orphans   bool // turns of dead workers, or those workers
	schedules bool // that want a turn
	due       bool // turns that nobody has taken yet
}

// upkeep does what a beat found to do for all.
func (w *Worker) upkeep(ctx context.Context, f found, draining bool) error {
	if f.due { // its time has come, or the server's call was lost
		w.look()
	}
	var errs error
	if f.orphans {
		errs = w.giveOut(ctx)
	}
	if f.schedules && !draining {
		errs = errors.Join(errs, w.fire(ctx))
	}
	return errs
}

// lock is the number of the advisory lock of the worker.
func (w *Worker) lock() int64 { return w.fleet.pool.Number("worker " + w.id) }

// hold takes the lock of the worker, if it has none.
func (w *Worker) hold(ctx context.Context) error {
	if w.beats.ask != nil {
		return nil
	}
	session, err := w.fleet.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	if _, err := session.Exec(ctx, "SELECT pg_advisory_lock($1)", w.lock()); err != nil {
		session.Release()
		return err
	}
	if _, err := session.Exec(ctx, "LISTEN "+w.fleet.channel()); err != nil {
		_ = session.Conn().Close(context.WithoutCancel(ctx)) // the lock ends with it
		session.Release()
		return err
	}
	w.beats.wait = func(ctx context.Context) error {
		_, err := session.Conn().WaitForNotification(ctx)
		return err
	}
	w.beats.ask = func(ctx context.Context, query string, args []any, into ...any) error {
		return session.QueryRow(ctx, query, args...).Scan(into...)
	}
	w.beats.end = func() {
		_ = session.Conn().Close(context.WithoutCancel(ctx)) // the lock ends with it
		session.Release()
	}
	return nil
}

// release ends the session, and the lock with it.
func (w *Worker) release() {
	if w.beats.ask != nil {
		w.beats.end()
		w.beats.ask = nil
	}
}

// The workers that are dead: the last beat is too long ago, or nobody has the lock. $1 is the
// one who asks, $2 how many seconds a worker lives after a beat.
const deadQuery = `
	SELECT id FROM fleet_workers s WHERE id <> $1 AND (seen_at < clock_timestamp() - make_interval(secs => $2)
		OR NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.classid::bigint << 32 | l.objid::bigint) = s.lock))`

// The turns of dead workers, and those that a worker was given and has not in hand $3 seconds
// later: its process lost them, in an outage of the server perhaps.
const orphansQuery = `
	SELECT t.id, t.connector FROM fleet_turns t WHERE t.worker IS NOT NULL AND NOT EXISTS (
		SELECT 1 FROM fleet_workers s WHERE s.id = t.worker
			AND s.id NOT IN (` + deadQuery + `)
			AND (t.id = ANY (s.jobs) OR t.taken_at > clock_timestamp() - make_interval(secs => $3)))`

// beatQuery is a beat in one statement, which also finds what is due for all. A worker that others
// took for dead in an outage of the server has a row again, and is as old as it was.
const beatQuery = `
	WITH me AS (
		INSERT INTO fleet_workers (id, host, pid, version, at_most, draining, jobs, lock, started_at, seen_at, lacks)
		VALUES ($1, $4, $5, $6, $7, $8, $9, $10, coalesce($11, clock_timestamp()), clock_timestamp(), $12)
		ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), draining = $8, jobs = $9, lacks = $12 RETURNING started_at
	)
	SELECT clock_timestamp(), (SELECT least FROM fleet_version), (SELECT max(version_id) FROM goose_db_version),
		EXISTS (` + orphansQuery + `) OR EXISTS (` + deadQuery + `),
		EXISTS (SELECT 1 FROM fleet_schedules WHERE next_at <= clock_timestamp()),
		EXISTS (SELECT 1 FROM fleet_turns WHERE ` + due + `), (SELECT started_at FROM me)`

// giveOut gives the turns of dead workers out again, and forgets the workers. One worker
// does so at a time.
func (w *Worker) giveOut(ctx context.Context) error {
	var again []turn
	err := w.alone(ctx, "reaper", func(tx postgres.Tx) error {
		rows, err := tx.Query(ctx, orphansQuery, w.id, gone.Seconds(), lostAfter.Seconds())
		if err != nil {
			return err
		}
		if again, err = readTurns(rows); err != nil {
			return err
		}
		for _, t := range again {
			// First, since it keeps a turn of the same epoch from being inserted.
			if _, err := tx.Exec(ctx, `DELETE FROM fleet_turns WHERE id = $1`, t.id); err != nil {
				return err
			}
			if err := w.fleet.enqueue(ctx, tx, t.connector, time.Time{}); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `DELETE FROM fleet_workers WHERE id IN (`+deadQuery+`)`, w.id, gone.Seconds())
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range again {
		w.Say(Event{Kind: TurnGivenOut, Worker: w.id, Connector: t.connector})
	}
	return nil
}

// alone does a change in a transaction, unless another worker does it at the moment.
func (w *Worker) alone(ctx context.Context, what string, do func(postgres.Tx) error) error {
	return w.fleet.change(ctx, func(tx postgres.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", w.fleet.pool.Number("fleet "+what)).Scan(&mine); err != nil || !mine {
			return err
		}
		return do(tx)
	})
}

// clockOff returns a *problem.ClockError if the clock was off by more than the margin, whenever
// between before and after the server looked at its own.
func clockOff(server, before, after time.Time) error {
	switch {
	case before.Sub(server) > clockMargin:
		return &problem.ClockError{By: before.Sub(server), May: clockMargin}
	case server.Sub(after) > clockMargin:
		return &problem.ClockError{By: -server.Sub(after), May: clockMargin}
	}
	return nil
}

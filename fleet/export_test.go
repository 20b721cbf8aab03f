package fleet

import (
	"context"
	"time"

	"collect/engine"
	"collect/report"
)

// ClockOff is what a beat makes of the clocks.
func ClockOff(server, before, after time.Time) error { return clockOff(server, before, after) }

// Next is when the turn after one is due.
func Next(said report.Summary, ended engine.Ended, now time.Time) (time.Time, bool) {
	return next(said, ended, now)
}

// Due is when a turn of a schedule is due after a time.
func Due(s Schedule, after time.Time) (time.Time, error) { return s.next(after) }

// Exec runs a statement.
func Exec(ctx context.Context, f *Fleet, query string, args ...any) error {
	_, err := f.pool.Exec(ctx, query, args...)
	return err
}

// One reads one row.
func One(ctx context.Context, f *Fleet, query string, into ...any) error {
	return f.pool.QueryRow(ctx, query).Scan(into...)
}

// EndSession ends the session of a worker, as a server does that starts again.
func EndSession(ctx context.Context, w *Worker) error {
	_, err := w.fleet.pool.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND (classid::bigint << 32 | objid::bigint) = $1", w.lock())
	return err
}

// Lacked is what a beat at a time says that a worker lacks.
func Lacked(w *Worker, now time.Time) map[string]Lack { return w.lacked(now) }

// TryAgain lets a worker try again what it lacks.
func TryAgain(w *Worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for connector, lack := range w.lacks {
		w.lacks[connector] = Lack{Why: lack.Why, Until: time.Now()}
	}
	w.look()
}

// OccupyAllButOne takes all connections of a worker but one, beside the one of its session.
func OccupyAllButOne(ctx context.Context, t interface {
	Helper()
	Fatal(...any)
}, w *Worker) (release func()) {
	t.Helper()
	var all []interface{ Release() }
	for range connections - 2 {
		c, err := w.fleet.pool.Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return func() {
		for _, c := range all {
			c.Release()
		}
	}
}

package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collect/store/postgres"
)

// The turns are rows of River's table. Who takes one, gives it back and ends it is here, and
// not River's own client, of which each asks and elects several times a second where
// there is nothing to do: see docs/decisions/0062.

// ofTurns are the rows of turns, in the words of River's index.
const ofTurns = `kind = 'turn' AND queue = 'default' AND priority = 1`

// A turn is one that this worker has in hand.
type turn struct {
	job       int64
	connector string
}

// channel is where workers hear that turns are due.
func (f *Fleet) channel() string {
	return fmt.Sprintf("collect_turns_%016x", uint64(f.pool.Number("turns"))) // #nosec G115 -- a name
}

// call tells all workers that turns are due, when the transaction is committed.
func (f *Fleet) call(ctx context.Context, tx postgres.Tx) error {
	_, err := tx.Exec(ctx, `SELECT pg_notify($1, '')`, f.channel())
	return err
}

const takeQuery = `
	WITH due AS MATERIALIZED (
		SELECT id FROM river_job WHERE ` + ofTurns + ` AND state = 'available' AND scheduled_at <= clock_timestamp()
		ORDER BY scheduled_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
	)
	UPDATE river_job j SET state = 'running', attempt = 1, attempted_at = clock_timestamp(), attempted_by = ARRAY[$1]
	FROM due WHERE j.id = due.id RETURNING j.id, j.args ->> 'connector'`

// takeDue takes turns that are due, the longest of them first, n at most.
func (w *Worker) takeDue(ctx context.Context, n int) ([]turn, error) {
	rows, err := w.fleet.pool.Query(ctx, takeQuery, w.id, n)
	if err != nil {
		return nil, err
	}
	return read(rows, func(t *turn) []any { return []any{&t.job, &t.connector} })
}

// errReplaced says that a beat took a turn for that of a dead worker. The one in its place
// goes on.
var errReplaced = errors.New("the turn was given out again")

// mine is the turn $1 where it is still that of the worker $2.
const mine = ` WHERE id = $1 AND state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $2`

// putBack makes a turn due after a while, for any worker.
func (w *Worker) putBack(ctx context.Context, t turn, after time.Duration) error {
	return w.fleet.change(ctx, func(tx postgres.Tx) error {
		state := "scheduled"
		if after == 0 {
			state = "available"
			if err := w.fleet.call(ctx, tx); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE river_job SET state = $3::text::river_job_state, scheduled_at = clock_timestamp() + $4::interval`+mine, t.job, w.id, state, after)
		return err
	})
}

// succeed ends a turn and inserts the one after it, if there is to be one again.
func (w *Worker) succeed(ctx context.Context, t turn, at time.Time, again bool) error {
	return w.fleet.change(ctx, func(tx postgres.Tx) error {
		done, err := tx.Exec(ctx, `UPDATE river_job SET state = 'completed', finalized_at = clock_timestamp()`+mine, t.job, w.id)
		switch {
		case err != nil:
			return err
		case done.RowsAffected() == 0:
			return errReplaced
		case !again:
			return nil
		}
		if !at.After(time.Now()) {
			at = time.Time{}
		}
		return w.fleet.enqueue(ctx, tx, t.connector, at)
	})
}

// ripen makes the turns due whose time has come.
func (w *Worker) ripen(ctx context.Context) error {
	return w.alone(ctx, "queue", func(tx postgres.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE river_job SET state = 'available' WHERE `+ofTurns+` AND `+ripe)
		if err != nil {
			return err
		}
		return w.fleet.call(ctx, tx)
	})
}

const ripe = `state IN ('scheduled', 'retryable') AND scheduled_at <= clock_timestamp()`

// forget removes turns that are long over.
func (w *Worker) forget(ctx context.Context) error {
	return w.alone(ctx, "queue", func(tx postgres.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM river_job WHERE `+over, keptFor)
		return err
	})
}

const over = `state IN ('completed', 'cancelled') AND finalized_at < clock_timestamp() - $1::interval`

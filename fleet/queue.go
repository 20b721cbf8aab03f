package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"collect/store/postgres"
)

// A turn is one that this worker has in hand.
type turn struct {
	id        int64
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

// The next turn of a connector is of the epoch that its lease has, and one waits at most. Of two
// times at which it is wanted, the earlier one is right. What conflicts with another insertion, or
// with a turn that was taken and has not begun, is the same turn.
const enqueueQuery = `
	WITH waiting AS (
		UPDATE fleet_turns SET due_at = least(due_at, coalesce($2, clock_timestamp())) WHERE connector = $1 AND worker IS NULL RETURNING id
	)
	INSERT INTO fleet_turns AS t (connector, epoch, due_at)
	SELECT $1, coalesce((SELECT epoch FROM leases WHERE connector = $1), 0), coalesce($2, clock_timestamp()) WHERE NOT EXISTS (SELECT 1 FROM waiting)
	ON CONFLICT (connector, epoch) DO UPDATE SET due_at = excluded.due_at WHERE t.worker IS NULL AND t.due_at > excluded.due_at`

// enqueue inserts the next turn of a connector, due at a time, or now if that is zero. If it
// waits already, and until later, it is brought forward.
func (f *Fleet) enqueue(ctx context.Context, tx postgres.Tx, connector string, at time.Time) error {
	var due *time.Time
	if !at.IsZero() {
		due = &at
	}
	if _, err := tx.Exec(ctx, enqueueQuery, connector, due); err != nil || due != nil {
		return err
	}
	return f.call(ctx, tx)
}

const takeQuery = `
	WITH free AS MATERIALIZED (
		SELECT id FROM fleet_turns t WHERE ` + due + ` AND connector <> ALL ($3)
			AND NOT EXISTS (SELECT 1 FROM fleet_turns a WHERE a.connector = t.connector AND a.worker IS NOT NULL)
		ORDER BY due_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
	)
	UPDATE fleet_turns t SET worker = $1, taken_at = clock_timestamp() FROM free WHERE t.id = free.id RETURNING t.id, t.connector`

const due = `worker IS NULL AND due_at <= clock_timestamp()`

// takeDue takes turns that are due and that the worker does not lack, the longest of them first, n
// at most. A connector that has a turn at work has its next one after it.
func (w *Worker) takeDue(ctx context.Context, n int) ([]turn, error) {
	rows, err := w.fleet.pool.Query(ctx, takeQuery, w.id, n, w.lacking(time.Now()))
	if err != nil {
		return nil, err
	}
	return readTurns(rows)
}

func readTurns(rows postgres.Rows) ([]turn, error) {
	return read(rows, func(t *turn) []any { return []any{&t.id, &t.connector} })
}

// errReplaced says that a beat took a turn for that of a dead worker. The one in its place
// goes on.
var errReplaced = errors.New("the turn was given out again")

// succeed ends a turn and inserts the one after it, if there is to be one again: at a time, or now if
// that is past. If that time comes before the next beat, the worker looks then.
func (w *Worker) succeed(ctx context.Context, t turn, at time.Time, again bool) error {
	err := w.fleet.change(ctx, func(tx postgres.Tx) error {
		done, err := tx.Exec(ctx, `DELETE FROM fleet_turns WHERE id = $1 AND worker = $2`, t.id, w.id)
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
	if soon := time.Until(at); err == nil && again && soon > 0 && soon < w.Beat {
		time.AfterFunc(soon, w.look)
	}
	return err
}

package ledger

import (
	"context"
	"fmt"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
)

// pruneRows bounds a transaction: a run beside it waits for that long.
const pruneRows = 2000

// What may be removed, each as a query of ids. ?1 is the connector, ?2 the time, as
// text, and ?3 a number of bytes.
//
// What a person ordered is kept, and so is what the next run compares itself with: the
// newest run of each exit code, and its events.
const (
	newestRuns = `SELECT max(number) FROM runs WHERE connector = ?1 GROUP BY exit_code`

	oldEvents = `SELECT id FROM events WHERE connector = ?1 AND at < ?2 AND ` + mayGoEvents
	oldRuns   = `SELECT number FROM runs WHERE connector = ?1 AND coalesce(ended_at, beat_at) < ?2 AND ` + mayGoRuns

	mayGoEvents = `NOT (` + events.Ordered + `)
		AND run NOT IN (SELECT id FROM runs WHERE number IN (` + newestRuns + `) OR connector = ?1 AND outcome = 'running')`
	mayGoRuns = `outcome <> 'running' AND number NOT IN (` + newestRuns + `)`

	eventsSize = `length(info)`
	runsSize   = `length(params) + length(waited)`

	oldRejects = `SELECT q.id FROM quarantine q JOIN streams s ON s.id = q.stream_id LEFT JOIN slices c ON c.id = q.last_slice
		WHERE s.connector = ?1 AND c.committed_at < ?2`

	// The newest are kept, as many as have room, and what is never removed.
	eventsBeyond = `SELECT id FROM (SELECT id, kind, info, run, sum(` + eventsSize + ` + ` + rowSize + `) OVER (ORDER BY id DESC) AS upto
		FROM events WHERE connector = ?1) AS newest WHERE upto > ?2 AND ` + mayGoEvents
	runsBeyond = `SELECT number FROM (SELECT number, outcome, sum(` + runsSize + ` + ` + rowSize + `) OVER (ORDER BY number DESC) AS upto
		FROM runs WHERE connector = ?1) AS newest WHERE upto > ?2 AND ` + mayGoRuns
	rejectsBeyond = `SELECT id FROM (
		SELECT q.id, sum(length(q.data)) OVER (ORDER BY q.last_slice DESC, q.id DESC) AS upto
		FROM quarantine q JOIN streams s ON s.id = q.stream_id WHERE s.connector = ?1) AS newest WHERE upto > ?2`
)

// A pruning is one kind of rows that may go.
type pruning struct {
	table, key, size string
	which            string
	bound            any
	count            func(*store.Pruned) *int64
}

// prunings returns what the order is for.
func prunings(p store.Prune) (all []pruning) {
	add := func(table, key, size string, count func(*store.Pruned) *int64, old string, before time.Time, beyond string, room int64) {
		switch {
		case !before.IsZero():
			all = append(all, pruning{table, key, size, old, format.Time(before), count})
		case room > 0:
			all = append(all, pruning{table, key, size, beyond, room, count})
		}
	}
	add("events", "id", eventsSize, func(n *store.Pruned) *int64 { return &n.Events }, oldEvents, p.Events, eventsBeyond, p.EventsRoom)
	add("runs", "number", runsSize, func(n *store.Pruned) *int64 { return &n.Runs }, oldRuns, p.Runs, runsBeyond, p.RunsRoom)
	add("quarantine", "id", "length(data)", func(n *store.Pruned) *int64 { return &n.Quarantined }, oldRejects, p.Quarantine, rejectsBeyond, p.Room)
	return all
}

// rowSize is about what a row takes beside its long values, with its indexes, in bytes.
const rowSize = "150"

// Prunable counts what Prune would remove; see store.Reader.
func (r reader) Prunable(ctx context.Context, connector string, p store.Prune) (found store.Pruned, err error) {
	for _, what := range prunings(p) {
		var rows, bytes int64
		_, err := r.readers.One(ctx, []any{&rows, &bytes}, fmt.Sprintf(`SELECT count(*), coalesce(sum(%s + %s), 0) FROM %s WHERE %s IN (%s)`,
			what.size, rowSize, what.table, what.key, what.which), connector, what.bound)
		if err != nil {
			return found, err
		}
		*what.count(&found) += rows
		found.Bytes += bytes
	}
	return found, nil
}

// Prune removes some of what may go; see store.Store. It takes no lease: what it
// removes is of runs that have ended.
func (s *Store) Prune(ctx context.Context, connector string, p store.Prune, audit store.Audit) (gone store.Pruned, err error) {
	err = s.writer.Update(ctx, func(t database.Tx) error {
		gone = store.Pruned{}
		var total collection.Tally
		for _, what := range prunings(p) {
			left := pruneRows - gone.Rows()
			if left <= 0 {
				break
			}
			some := fmt.Sprintf(`%s IN (SELECT * FROM (%s) AS old ORDER BY 1 LIMIT %d)`, what.key, what.which, left)
			var rows, bytes int64
			err := t.Row(fmt.Sprintf(`SELECT count(*), coalesce(sum(%s + %s), 0) FROM %s WHERE %s`, what.size, rowSize, what.table, some), connector, what.bound).Scan(&rows, &bytes)
			if err != nil {
				return err
			}
			if what.table == "runs" {
				if err := t.Row(`SELECT `+tallySums+` FROM runs WHERE `+some, connector, what.bound).Scan(format.TallyColumns(&total)...); err != nil {
					return err
				}
			}
			removed, err := t.Change(`DELETE FROM `+what.table+` WHERE `+some, connector, what.bound)
			if err != nil {
				return err
			}
			if removed != rows {
				return fmt.Errorf("%d rows of %s were to go, and %d went", rows, what.table, removed)
			}
			*what.count(&gone) += rows
			gone.Bytes += bytes
		}
		if gone.Rows() == 0 {
			return nil
		}
		info := collection.PrunedInfo{Events: gone.Events, Runs: gone.Runs, Quarantined: gone.Quarantined, Bytes: gone.Bytes, Tally: total}
		_, err := events.Author{Connector: connector}.Record(t, collection.Event{Kind: collection.HistoryPruned, Pruned: &info, Message: audit.String()})
		return err
	}, func(database.Tx) (bool, error) { return false, nil })
	if err != nil {
		return store.Pruned{}, fmt.Errorf("prune %s: %w", connector, err)
	}
	return gone, nil
}

// tallySums adds up runs.
const tallySums = `coalesce(sum(requests), 0), coalesce(sum(retries), 0), coalesce(sum(throttled), 0), coalesce(sum(slices), 0),
	coalesce(sum(records), 0), coalesce(sum(changed), 0), coalesce(sum(rejected), 0), coalesce(sum(older), 0), coalesce(sum(deleted), 0),
	coalesce(sum(gaps_open), 0), coalesce(sum(gaps_shut), 0)`

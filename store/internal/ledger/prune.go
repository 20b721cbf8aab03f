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

// A kind of rows of the past.
type kind struct {
	table, key string
	size       string // of a row, beside rowSize

	// What may be removed, each as a query of keys. ?1 is the connector, ?2 the time, as
	// text, or a number of bytes: the newest rows are kept that have room there.
	old, beyond string

	count func(*store.Pruned) *int64
}

var (
	eventKind = kind{"events", "id", "length(info)", oldEvents, eventsBeyond, func(n *store.Pruned) *int64 { return &n.Events }}
	runKind   = kind{"runs", "number", "length(params) + length(waited)", oldRuns, runsBeyond, func(n *store.Pruned) *int64 { return &n.Runs }}
	sliceKind = kind{"slices", "id", "0", oldSlices, slicesBeyond, func(n *store.Pruned) *int64 { return &n.Slices }}
	rejected  = kind{"quarantine", "id", "length(data)", oldRejects, rejectsBeyond, func(n *store.Pruned) *int64 { return &n.Quarantined }}
)

// What a person ordered is kept, and so is what the next run compares itself with: the
// newest run of each exit code, with its events and slices.
const (
	newestRuns = `SELECT max(number) FROM runs WHERE connector = ?1 GROUP BY exit_code`
	ofOldRuns  = `NOT IN (SELECT id FROM runs WHERE number IN (` + newestRuns + `) OR connector = ?1 AND outcome = 'running')`

	mayGoEvents  = `NOT (` + events.Ordered + `) AND run ` + ofOldRuns
	oldEvents    = `SELECT id FROM events WHERE connector = ?1 AND at < ?2 AND ` + mayGoEvents
	eventsBeyond = `SELECT id FROM (SELECT id, kind, info, run, sum(length(info) + ` + rowSize + `) OVER (ORDER BY id DESC) AS upto
		FROM events WHERE connector = ?1) AS newest WHERE upto > ?2 AND ` + mayGoEvents

	mayGoRuns  = `outcome <> 'running' AND number NOT IN (` + newestRuns + `)`
	oldRuns    = `SELECT number FROM runs WHERE connector = ?1 AND coalesce(ended_at, beat_at) < ?2 AND ` + mayGoRuns
	runsBeyond = `SELECT number FROM (SELECT number, outcome, sum(length(params) + length(waited) + ` + rowSize + `) OVER (ORDER BY number DESC) AS upto
		FROM runs WHERE connector = ?1) AS newest WHERE upto > ?2 AND ` + mayGoRuns

	// The numbers of commits only grow, so the newest of the store stays: the next one is
	// counted from it. A record has the commit that stored or deleted it, which says so in
	// changed or deleted. So no record is looked at.
	mayGoSlices = `c.changed = 0 AND c.deleted = 0 AND c.rejected = 0 AND c.span = ''
		AND c.id <> (SELECT max(id) FROM slices) AND c.run ` + ofOldRuns + `
		AND NOT EXISTS (SELECT 1 FROM checkpoints k WHERE k.partition_id = c.partition_id AND k.lane = c.lane AND k.slice_id = c.id)
		AND c.id NOT IN (SELECT coalesce(CASE WHEN json_valid(k.evidence) THEN CAST(json_extract(k.evidence, '$.pass') AS BIGINT) END, 0)
			FROM streams o JOIN partitions w ON w.stream_id = o.id AND w.partition = '' JOIN checkpoints k ON k.partition_id = w.id WHERE o.connector = ?1)`
	slicesOf  = ` FROM slices c CROSS JOIN partitions p ON p.id = c.partition_id CROSS JOIN streams s ON s.id = p.stream_id WHERE s.connector = ?1`
	oldSlices = `SELECT c.id` + slicesOf + ` AND c.committed_at < ?2 AND ` + mayGoSlices

	slicesBeyond = `SELECT c.id FROM (SELECT c.*, count(*) OVER (ORDER BY c.id DESC) * ` + rowSize + ` AS upto` + slicesOf + `) AS c
		WHERE upto > ?2 AND ` + mayGoSlices

	// A slice that is gone came before the next one that is there.
	oldRejects = `SELECT q.id FROM quarantine q JOIN streams s ON s.id = q.stream_id
		WHERE s.connector = ?1 AND (SELECT committed_at FROM slices WHERE id >= q.last_slice ORDER BY id LIMIT 1) < ?2 AND ` + decidedOn
	rejectsBeyond = `SELECT id FROM (
		SELECT q.id, sum(length(q.data)) OVER (ORDER BY q.last_slice DESC, q.id DESC) AS upto
		FROM quarantine q JOIN streams s ON s.id = q.stream_id WHERE s.connector = ?1 AND ` + decidedOn + `) AS newest WHERE upto > ?2`

	// decidedOn leaves what a gap owes a decision about.
	decidedOn = `NOT (q.reason = '` + string(collection.Contested) + `' AND EXISTS (SELECT 1 FROM gaps g
		WHERE g.partition_id = q.partition_id AND g.meaning = '` + string(collection.Contested) + `' AND g.state IN ('open', 'leased', 'dead')))`
)

// A pruning is an order for one kind of rows.
type pruning struct {
	kind
	which string // of the keys that may go
	bound any
}

// prunings returns what the order is for.
func prunings(p store.Prune) (all []pruning) {
	for _, of := range []struct {
		kind   kind
		before time.Time
		room   int64
	}{{eventKind, p.Events, p.EventsRoom}, {runKind, p.Runs, p.RunsRoom}, {sliceKind, p.Slices, p.SlicesRoom}, {rejected, p.Quarantine, p.Room}} {
		switch {
		case !of.before.IsZero():
			all = append(all, pruning{of.kind, of.kind.old, format.Time(of.before)})
		case of.room > 0:
			all = append(all, pruning{of.kind, of.kind.beyond, of.room})
		}
	}
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
		info := collection.PrunedInfo{Events: gone.Events, Runs: gone.Runs, Slices: gone.Slices, Quarantined: gone.Quarantined, Bytes: gone.Bytes, Tally: total}
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

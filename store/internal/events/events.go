// Package events keeps what happened, in the transaction of what it tells of.
package events

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/format"
)

// An Author is the run that records events. Events of another say so.
type Author struct{ Connector, Run string }

// Record stores an event, and returns its number.
func (a Author) Record(t database.Tx, e collection.Event) (id int64, err error) {
	if e.Time.IsZero() {
		e.Time = t.Now
	}
	info, err := store.EventInfo(e)
	if err != nil {
		return 0, err
	}
	return t.Insert(`INSERT INTO events (at, kind, connector, run, provider, stream, partition, lane, info)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, format.Time(e.Time), string(e.Kind), cmp.Or(e.Connector, a.Connector), cmp.Or(e.Run, a.Run),
		e.Provider, e.Stream, string(e.Partition), string(e.Lane), string(info))
}

// Read returns the newest n events of a connector, oldest first. A commit is an
// event, too.
func Read(ctx context.Context, r *database.Readers, connector string, n int) (events []collection.Event, err error) {
	err = r.Query(ctx, func(row database.Scanner) error {
		e := collection.Event{Connector: connector}
		var info []byte
		var slice collection.SliceInfo
		var place, id int64
		err := row.Scan(format.TimeTo(&e.Time), &e.Kind, &e.Run, &e.Provider, &e.Stream, &e.Partition, &e.Lane, &info,
			&slice.Commit, &slice.Records, &slice.Changed, &slice.Rejected, &slice.Older, &slice.Deleted, &slice.Done, &place, &id)
		if err != nil {
			return err
		}
		if e.Kind == collection.SliceCommitted {
			e.Slice = &slice
		}
		events = append(events, e)
		return store.AddEventInfo(&events[len(events)-1], info)
	}, `
		SELECT * FROM (
			SELECT at, kind, run, provider, stream, partition, lane, info, 0, 0, 0, 0, 0, 0, 0, 1 AS place, id
			FROM (SELECT * FROM events WHERE connector = ?1 ORDER BY id DESC LIMIT ?2) AS told
			UNION ALL
			SELECT * FROM (
				SELECT c.committed_at, 'slice.committed', c.run, '', s.name, p.partition, c.lane, '{}',
					c.id, c.records, c.changed, c.rejected, c.older, c.deleted, c.done, 0, c.id
				FROM slices c CROSS JOIN partitions p ON p.id = c.partition_id CROSS JOIN streams s ON s.id = p.stream_id
				WHERE s.connector = ?1 ORDER BY c.id DESC LIMIT ?2) AS commits
			ORDER BY 1 DESC, place DESC, id DESC LIMIT ?2
		) AS newest ORDER BY at, place, id`, connector, n)
	return events, err
}

// OfRun returns the events of a run of a connector, oldest first. Its commits are not
// among them.
func OfRun(ctx context.Context, r *database.Readers, connector, run string) ([]collection.Event, error) {
	return told(ctx, r, `WHERE connector = ? AND run = ? ORDER BY at, id`, connector, run)
}

// Happened returns the newest n events of a connector, oldest first, commits left out.
func Happened(ctx context.Context, r *database.Readers, connector string, n int) ([]collection.Event, error) {
	all, err := told(ctx, r, `WHERE connector = ? ORDER BY id DESC LIMIT ?`, connector, n)
	slices.Reverse(all)
	return all, err
}

// Since returns the events of some kinds since the time that is the first of args, oldest
// first. named is a table of connectors, as SQL with the other args.
func Since(ctx context.Context, r *database.Readers, kinds []collection.EventKind, named string, args ...any) ([]collection.Event, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	var quoted []string
	for _, kind := range kinds {
		quoted = append(quoted, "'"+string(kind)+"'")
	}
	return told(ctx, r, `WHERE id IN (SELECT e.id FROM (
			SELECT connector AS name, coalesce((SELECT id FROM events WHERE connector = n.connector AND at < ?1 ORDER BY id DESC LIMIT 1), 0) AS older
			FROM (SELECT connector FROM `+named+`) AS n) AS begun
		CROSS JOIN events e ON e.connector = begun.name AND e.id > begun.older AND e.kind IN (`+strings.Join(quoted, ", ")+`)) ORDER BY at, id`, args...)
}

// told returns events that are no commits.
func told(ctx context.Context, r *database.Readers, which string, args ...any) (all []collection.Event, err error) {
	err = r.Query(ctx, func(row database.Scanner) error {
		var e collection.Event
		var info []byte
		if err := row.Scan(format.TimeTo(&e.Time), &e.Kind, &e.Connector, &e.Run, &e.Provider, &e.Stream, &e.Partition, &e.Lane, &info); err != nil {
			return err
		}
		all = append(all, e)
		return store.AddEventInfo(&all[len(all)-1], info)
	}, `SELECT at, kind, connector, run, provider, stream, partition, lane, info FROM events `+which, args...)
	return all, err
}

// Ordered are the kinds of events that people order, as SQL: the index events_ordered
// has them by the same words.
const Ordered = `kind IN ('gap.revived', 'gap.waived', 'schema.accepted', 'checkpoint.reset',
    'store.restored', 'history.pruned', 'breaker.changed', 'freeze.changed', 'budget.ordered', 'connector.paused', 'connector.unpaused')`

// ByHand are the orders among them: a breaker or a freeze changes by itself, too.
const ByHand = Ordered + ` AND (kind NOT IN ('breaker.changed', 'freeze.changed') OR coalesce(json_extract(info, '$.breaker.trigger'), '') = 'operator'
	OR coalesce(json_extract(info, '$.freeze.reason'), '') IN ('operator', 'released_by_operator'))`

// Orders returns the newest n events of what people ordered of a connector, or of all
// with "", newest first.
func Orders(ctx context.Context, r *database.Readers, connector string, n int) ([]collection.Event, error) {
	return told(ctx, r, `INDEXED BY events_ordered WHERE `+ByHand+` AND (?1 = '' OR connector = ?1) ORDER BY id DESC LIMIT ?2`, connector, n)
}

package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"collect/collection"
	"collect/store"
	"collect/store/internal/database"
	"collect/store/internal/events"
	"collect/store/internal/format"
)

// Past returns what happened since a time; see store.Reader.
func (r reader) Past(ctx context.Context, since time.Time, kinds []collection.EventKind, connectors ...string) (p store.Past, err error) {
	named, args := ofSince(since, connectors)
	// Runs and events of a connector are numbered as they came: each is read from the newest
	// back to the first that is older.
	err = r.readers.Query(ctx, func(row database.Scanner) error {
		run, err := scanRun(row)
		p.Runs = append(p.Runs, run)
		return err
	}, `SELECT `+runColumns+` FROM runs WHERE number IN (SELECT r.number FROM (
			SELECT connector AS name, coalesce((SELECT number FROM runs WHERE connector = n.connector AND ended_at < ?1 ORDER BY number DESC LIMIT 1), 0) AS older
			FROM (SELECT connector FROM `+named+`) AS n) AS begun
		CROSS JOIN runs r ON r.connector = begun.name AND r.number > begun.older) ORDER BY started_at, number`, args...)
	if err != nil {
		return p, err
	}
	p.Events, err = events.Since(ctx, r.readers, kinds, named, args...)
	if err != nil {
		return p, err
	}
	_, err = r.readers.One(ctx, []any{format.TimeTo(&p.Oldest)}, `SELECT min(at) FROM (
		SELECT (SELECT at FROM events WHERE connector = n.connector ORDER BY id LIMIT 1) AS at FROM (SELECT connector FROM `+named+`) AS n) AS first WHERE ?1 <> ''`, args...)
	return p, err
}

// Moves returns how the number of gaps that are owed moved; see store.Reader.
func (r reader) Moves(ctx context.Context, since time.Time, connectors ...string) (all []store.Move, err error) {
	named, args := ofSince(since, connectors)
	const hour = "2006-01-02T15"
	err = r.readers.Query(ctx, func(row database.Scanner) error {
		var m store.Move
		var at string
		if err := row.Scan(&at, &m.Opened, &m.Closed); err != nil {
			return err
		}
		m.At, err = time.Parse(hour, at)
		all = append(all, m)
		return err
	}, `WITH g AS (SELECT opened_at, coalesce(waived_at, closed_at) AS shut_at FROM gaps
			WHERE stream_id IN (SELECT id FROM streams WHERE connector IN (SELECT connector FROM `+named+`)))
		SELECT hour, sum(opened), sum(shut) FROM (
			SELECT substr(opened_at, 1, 13) AS hour, 1 AS opened, 0 AS shut FROM g WHERE opened_at >= ?1
			UNION ALL SELECT substr(shut_at, 1, 13), 0, 1 FROM g WHERE shut_at >= ?1) AS moved
		GROUP BY hour ORDER BY hour`, args...)
	return all, err
}

// ofSince returns the connectors that are named, or all, as a table in SQL, and the arguments
// of a query with it: ?1 is the time.
func ofSince(since time.Time, connectors []string) (named string, args []any) {
	args = []any{format.Time(since)}
	if len(connectors) == 0 {
		return `leases`, args
	}
	var numbers []string
	for _, name := range connectors {
		args = append(args, name)
		numbers = append(numbers, fmt.Sprintf("?%d", len(args)))
	}
	return `leases WHERE connector IN (` + strings.Join(numbers, ", ") + `)`, args
}

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
	args, numbers := []any{format.Time(since)}, []string{}
	for _, name := range connectors {
		args = append(args, name)
		numbers = append(numbers, fmt.Sprintf("?%d", len(args)))
	}
	named := `leases`
	if len(connectors) > 0 {
		named += ` WHERE connector IN (` + strings.Join(numbers, ", ") + `)`
	}
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

package sqlite

import (
	"cmp"
	"context"
	"encoding/json"

	"collect/collection"
	"collect/store/sqlite/internal/database"
	"collect/store/sqlite/internal/format"
)

// info is what of an event belongs to its kind.
type info struct {
	Rate     *collection.RateInfo     `json:"rate,omitempty"`
	Throttle *collection.ThrottleInfo `json:"throttle,omitempty"`
	Wait     *collection.WaitInfo     `json:"wait,omitempty"`
	Breaker  *collection.BreakerInfo  `json:"breaker,omitempty"`
	Freeze   *collection.FreezeInfo   `json:"freeze,omitempty"`
	Clamp    *collection.ClampInfo    `json:"clamp,omitempty"`
	Route    *collection.RouteInfo    `json:"route,omitempty"`
	Gap      *collection.GapInfo      `json:"gap,omitempty"`
	Budget   *collection.BudgetInfo   `json:"budget,omitempty"`
	Metrics  *collection.Metrics      `json:"metrics,omitempty"`
	Message  string                   `json:"message,omitempty"`
}

// record stores an event in the transaction of what it tells of.
func (l *ledger) record(t database.Tx, e collection.Event) error {
	e.Run = cmp.Or(e.Run, l.run)
	e.Connector = cmp.Or(e.Connector, l.connector)
	return record(t, e)
}

func record(t database.Tx, e collection.Event) error {
	_, err := recordAs(t, e)
	return err
}

// recordAs is record, and returns the event's id.
func recordAs(t database.Tx, e collection.Event) (id int64, err error) {
	if e.Time.IsZero() {
		e.Time = t.Now
	}
	detail, err := json.Marshal(info{e.Rate, e.Throttle, e.Wait, e.Breaker, e.Freeze, e.Clamp, e.Route, e.Gap, e.Budget, e.Metrics, e.Message})
	if err != nil {
		return 0, err
	}
	return t.Insert(`INSERT INTO events (at, kind, connector, run, provider, stream, partition, lane, info)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, format.Time(e.Time), string(e.Kind), e.Connector, e.Run, e.Provider,
		e.Stream, string(e.Partition), string(e.Lane), string(detail))
}

// Events returns the newest n events of a connector, oldest first. A commit is
// an event, too.
func (s *Store) Events(ctx context.Context, connector string, n int) ([]collection.Event, error) {
	var events []collection.Event
	err := s.db.Query(ctx, func(row database.Scanner) error {
		e := collection.Event{Connector: connector}
		var detail string
		var slice collection.SliceInfo
		var place, id int64
		err := row.Scan(format.TimeTo(&e.Time), &e.Kind, &e.Run, &e.Provider, &e.Stream, &e.Partition, &e.Lane, &detail,
			&slice.Commit, &slice.Records, &slice.Changed, &slice.Rejected, &slice.Older, &slice.Done, &place, &id)
		if err != nil {
			return err
		}
		var in info
		if err := json.Unmarshal([]byte(detail), &in); err != nil {
			return err
		}
		e.Rate, e.Throttle, e.Wait, e.Breaker = in.Rate, in.Throttle, in.Wait, in.Breaker
		e.Freeze, e.Gap, e.Budget, e.Message = in.Freeze, in.Gap, in.Budget, in.Message
		e.Metrics, e.Clamp, e.Route = in.Metrics, in.Clamp, in.Route
		if e.Kind == collection.SliceCommitted {
			e.Slice = &slice
		}
		events = append(events, e)
		return nil
	}, `
		SELECT * FROM (
			SELECT at, kind, run, provider, stream, partition, lane, info, 0, 0, 0, 0, 0, 0, 1 AS place, id
			FROM (SELECT * FROM events WHERE connector = ?1 ORDER BY id DESC LIMIT ?2)
			UNION ALL
			SELECT * FROM (
				SELECT c.committed_at, 'slice.committed', c.run, '', s.name, p.partition, c.lane, '{}',
					c.id, c.records, c.changed, c.rejected, c.older, c.done, 0, c.id
				FROM slices c CROSS JOIN partitions p ON p.id = c.partition_id CROSS JOIN streams s ON s.id = p.stream_id
				WHERE s.connector = ?1 ORDER BY c.id DESC LIMIT ?2)
			ORDER BY 1 DESC, place DESC, id DESC LIMIT ?2
		) ORDER BY at, place, id`, connector, n)
	return events, err
}

package fleet

import (
	"context"
	"time"

	"collect/internal/jsonout"
	"collect/store/postgres"
)

// A View is how a fleet stands.
type View struct {
	Workers   []WorkerView
	Turns     []TurnView // at work, the longest first
	Waiting   int        // turns that are due
	Oldest    time.Duration
	Later     int // turns that are due at a time to come
	Next      time.Time
	Schedules []Schedule
	Orders    []OrderView // of people, newest first
	Now       time.Time   // of the server
}

// A Summary is how a fleet stands, in a few numbers.
type Summary struct {
	Workers, AtWork int
	Waiting         int // turns that are due
	Oldest          time.Duration
	Later           int // turns that are due at a time to come
	Next            time.Time
	Now             time.Time // of the server
}

// Summary returns the view in a few numbers.
func (v View) Summary() Summary {
	return Summary{len(v.Workers), len(v.Turns), v.Waiting, v.Oldest, v.Later, v.Next, v.Now}
}

// An Asker is a store beside which there may be a fleet.
type Asker interface {
	// Ask scans the one row that a query finds.
	Ask(ctx context.Context, dest []any, query string) error
}

// Summarize returns how the fleet beside a store stands, by the connections of the store;
// there is false if there never was one.
func Summarize(ctx context.Context, db Asker) (s Summary, there bool, err error) {
	if err := db.Ask(ctx, []any{&there}, `SELECT to_regclass('fleet_version') IS NOT NULL`); err != nil || !there {
		return s, false, err
	}
	var now, oldest, next int64 // microseconds
	err = db.Ask(ctx, []any{&now, &s.Workers, &s.AtWork, &s.Waiting, &oldest, &s.Later, &next}, `SELECT (extract(epoch FROM now()) * 1e6)::bigint,
		(SELECT count(*) FROM fleet_workers), count(*) FILTER (WHERE state = 'running'),
		count(*) FILTER (WHERE waits AND scheduled_at <= now()), coalesce((extract(epoch FROM now() - min(scheduled_at) FILTER (WHERE waits AND scheduled_at <= now())) * 1e6)::bigint, 0),
		count(*) FILTER (WHERE waits AND scheduled_at > now()), coalesce((extract(epoch FROM min(scheduled_at) FILTER (WHERE waits AND scheduled_at > now())) * 1e6)::bigint, 0)
		FROM (SELECT scheduled_at, state, state <> 'running' AS waits FROM river_job
			WHERE kind = 'turn' AND state IN ('running', 'available', 'scheduled', 'retryable')) AS turns`)
	s.Now, s.Oldest = time.UnixMicro(now), time.Duration(oldest)*time.Microsecond
	if s.Later > 0 {
		s.Next = time.UnixMicro(next)
	}
	return s, true, err
}

// A WorkerView is a worker that is there.
type WorkerView struct {
	ID, Host, Version string
	PID               int
	AtMost            int
	Since, Seen       time.Time
	Draining          bool
}

// A TurnView is a turn at work.
type TurnView struct {
	Connector, Worker string
	Since             time.Time
	Epoch             int64     // of the lease; 0: it is taken no more
	Expires           time.Time // of the lease, unless it is renewed before
}

// An OrderView is what a person ordered.
type OrderView struct {
	At                              time.Time
	Kind, Connector, Who, Why, What string
}

// Look returns how the fleet beside a store stands; there is false if there never was one. It
// changes nothing.
func Look(ctx context.Context, address string) (v View, there bool, err error) {
	pool, err := postgres.NewPool(ctx, address, 1)
	if err != nil {
		return v, false, err
	}
	defer pool.Close()
	if err := pool.QueryRow(ctx, `SELECT to_regclass('fleet_version') IS NOT NULL`).Scan(&there); err != nil || !there {
		return v, false, pool.Classify(err)
	}
	f := &Fleet{pool: pool}
	for _, look := range []func(context.Context, *View) error{f.counts, f.workers, f.atWork, f.orders} {
		if err := look(ctx, &v); err != nil {
			return v, true, pool.Classify(err)
		}
	}
	v.Schedules, err = f.Schedules(ctx)
	return v, true, err
}

func (f *Fleet) counts(ctx context.Context, v *View) error {
	var oldest, next *time.Time
	err := f.pool.QueryRow(ctx, `SELECT clock_timestamp(),
		count(*) FILTER (WHERE due), min(scheduled_at) FILTER (WHERE due),
		count(*) FILTER (WHERE NOT due), min(scheduled_at) FILTER (WHERE NOT due)
		FROM (SELECT scheduled_at, scheduled_at <= clock_timestamp() AS due FROM river_job
			WHERE kind = 'turn' AND state IN ('available', 'scheduled', 'retryable')) AS waiting`).
		Scan(&v.Now, &v.Waiting, &oldest, &v.Later, &next)
	if oldest != nil {
		v.Oldest = v.Now.Sub(*oldest)
	}
	if next != nil {
		v.Next = *next
	}
	return err
}

func (f *Fleet) workers(ctx context.Context, v *View) error {
	rows, err := f.pool.Query(ctx, `SELECT id, host, pid, version, at_most, started_at, seen_at, draining FROM fleet_workers ORDER BY host, pid`)
	if err != nil {
		return err
	}
	v.Workers, err = read(rows, func(w *WorkerView) []any {
		return []any{&w.ID, &w.Host, &w.PID, &w.Version, &w.AtMost, &w.Since, &w.Seen, &w.Draining}
	})
	return err
}

func (f *Fleet) atWork(ctx context.Context, v *View) error {
	rows, err := f.pool.Query(ctx, `SELECT j.args ->> 'connector', j.attempted_by[array_upper(j.attempted_by, 1)], j.attempted_at,
			coalesce(l.epoch, 0), coalesce(l.expires_at, clock_timestamp())
		FROM river_job j LEFT JOIN leases l ON l.connector = j.args ->> 'connector' AND l.run IS NOT NULL
		WHERE j.kind = 'turn' AND j.state = 'running' ORDER BY j.attempted_at`)
	if err != nil {
		return err
	}
	v.Turns, err = read(rows, func(t *TurnView) []any { return []any{&t.Connector, &t.Worker, &t.Since, &t.Epoch, &t.Expires} })
	return err
}

// shownOrders is how many orders are shown.
const shownOrders = 20

func (f *Fleet) orders(ctx context.Context, v *View) error {
	rows, err := f.pool.Query(ctx, `SELECT at, kind, connector, who, why, what FROM fleet_orders ORDER BY id DESC LIMIT $1`, shownOrders)
	if err != nil {
		return err
	}
	v.Orders, err = read(rows, func(o *OrderView) []any { return []any{&o.At, &o.Kind, &o.Connector, &o.Who, &o.Why, &o.What} })
	return err
}

// read returns all rows of a query; fields are where one of them goes to.
func read[T any](rows postgres.Rows, fields func(*T) []any) (all []T, err error) {
	defer rows.Close()
	for rows.Next() {
		var one T
		if err := rows.Scan(fields(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// A ViewLine is a View as JSON.
type ViewLine struct {
	At        jsonout.Time   `json:"at"` // by the clock of the server
	Workers   []WorkerLine   `json:"workers"`
	Turns     []TurnLine     `json:"turns"`   // at work
	Waiting   int            `json:"waiting"` // turns that are due
	Lag       float64        `json:"lag"`     // seconds that the oldest of them is due
	Later     int            `json:"later"`   // turns that are due at a time to come
	NextAt    jsonout.Time   `json:"next_at"` // the first of them
	Schedules []ScheduleLine `json:"schedules"`
	Orders    []OrderLine    `json:"orders"` // the newest 20, newest first
}

// A WorkerLine is a WorkerView as JSON.
type WorkerLine struct {
	ID       string       `json:"id"`
	Host     string       `json:"host"`
	PID      int          `json:"pid"`
	Version  string       `json:"version"`
	AtMost   int          `json:"at_most"`
	Started  jsonout.Time `json:"started_at"`
	Seen     jsonout.Time `json:"seen_at"`
	Draining bool         `json:"draining"`
}

// A TurnLine is a TurnView as JSON.
type TurnLine struct {
	Connector string       `json:"connector"`
	Worker    string       `json:"worker"`
	Since     jsonout.Time `json:"since"`
	Epoch     int64        `json:"epoch"`
	Expires   jsonout.Time `json:"lease_expires_at"`
}

// A ScheduleLine is a [Schedule] as JSON.
type ScheduleLine struct {
	Connector string       `json:"connector"`
	Cron      string       `json:"cron"`
	Zone      string       `json:"zone"`
	Jitter    float64      `json:"jitter"` // seconds
	CatchUp   CatchUp      `json:"catch_up"`
	NextAt    jsonout.Time `json:"next_at"`
}

// An OrderLine is an OrderView as JSON.
type OrderLine struct {
	At        jsonout.Time `json:"at"`
	Kind      string       `json:"kind"`
	Connector string       `json:"connector"`
	Who       string       `json:"who"`
	Why       string       `json:"why"`
	What      string       `json:"what"`
}

// Line returns the view as JSON.
func (v View) Line() ViewLine {
	l := ViewLine{At: jsonout.Time(v.Now), Waiting: v.Waiting, Lag: v.Oldest.Seconds(), Later: v.Later, NextAt: jsonout.Time(v.Next),
		Workers: []WorkerLine{}, Turns: []TurnLine{}, Schedules: ScheduleLines(v.Schedules), Orders: []OrderLine{}}
	for _, w := range v.Workers {
		l.Workers = append(l.Workers, WorkerLine{w.ID, w.Host, w.PID, w.Version, w.AtMost, jsonout.Time(w.Since), jsonout.Time(w.Seen), w.Draining})
	}
	for _, t := range v.Turns {
		l.Turns = append(l.Turns, TurnLine{t.Connector, t.Worker, jsonout.Time(t.Since), t.Epoch, jsonout.Time(t.Expires)})
	}
	for _, o := range v.Orders {
		l.Orders = append(l.Orders, OrderLine{jsonout.Time(o.At), o.Kind, o.Connector, o.Who, o.Why, o.What})
	}
	return l
}

// ScheduleLines returns schedules as JSON.
func ScheduleLines(all []Schedule) []ScheduleLine {
	lines := []ScheduleLine{}
	for _, s := range all {
		lines = append(lines, ScheduleLine{s.Connector, s.Cron, s.Zone, s.Jitter.Seconds(), s.CatchUp, jsonout.Time(s.Next)})
	}
	return lines
}

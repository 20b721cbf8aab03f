package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"collect/collection"
	"collect/internal/jsonout"
	"collect/internal/words"
	"collect/report"
	"collect/store"
	"collect/store/postgres"
)

// A View is how a fleet stands.
type View struct {
	Workers   []WorkerView
	Turns     []TurnView // at work, the longest first
	Waits     []WaitView // that wait, by when they are due
	Waiting   int        // turns that are due
	Oldest    time.Duration
	Later     int // turns that are due at a time to come
	Next      time.Time
	Schedules []Schedule
	Orders    []OrderView // of people, newest first
	Now       time.Time   // of the server
	Began     time.Time   // of the server: before it nobody could say that a worker lives
}

// A WorkerView is a worker that is there.
type WorkerView struct {
	ID, Host, Version string
	PID               int
	AtMost            int
	Since, Seen       time.Time
	Draining          bool
	Died              bool            // it was not heard of for as long as a lease lasts, in which the server was there
	Lacks             map[string]Lack // by connector
}

// A Lack says why a worker leaves the turns of a connector to others.
type Lack struct {
	Why   string    `json:"why"`   // no value of a secret is in it
	Until time.Time `json:"until"` // it tries again, if a turn is due
}

// A TurnView is a turn at work.
type TurnView struct {
	Connector, Worker string
	Since             time.Time
	Epoch             int64     // of the lease; 0: it is taken no more
	Expires           time.Time // of the lease, unless it is renewed before
}

// A WaitView is a turn that waits.
type WaitView struct {
	Connector string
	Due       time.Time
}

// An OrderView is what a person ordered.
type OrderView struct {
	At                              time.Time
	Kind, Connector, Who, Why, What string
}

// Look returns how the fleet beside a store stands; there is false if there never was one. It
// reads on the connections of the store, at one moment, and changes nothing.
func Look(ctx context.Context, db store.Reader) (v View, there bool, err error) {
	if there, err := Has(ctx, db); err != nil || !there {
		return v, false, err
	}
	if err := look(ctx, db, &v, viewQuery); err != nil {
		return v, true, err
	}
	v.settle()
	return v, true, nil
}

// settle takes its turns from workers that died, as the fleet does with the next beat of
// another worker, and counts what waits.
func (v *View) settle() {
	seen := map[string]time.Time{} // of those that died
	for i, w := range v.Workers {
		if v.Now.Sub(w.Seen) > gone && v.Now.Sub(v.Began) > gone {
			v.Workers[i].Died = true
			seen[w.ID] = w.Seen
		}
	}
	v.Turns = slices.DeleteFunc(v.Turns, func(t TurnView) bool {
		since, died := seen[t.Worker]
		if died {
			v.Waits = append(v.Waits, WaitView{t.Connector, since})
		}
		return died
	})
	slices.SortStableFunc(v.Waits, func(a, b WaitView) int { return a.Due.Compare(b.Due) })
	for _, w := range v.Waits {
		switch {
		case w.Due.After(v.Now):
			if v.Later == 0 {
				v.Next = w.Due
			}
			v.Later++
		default:
			if v.Waiting == 0 {
				v.Oldest = v.Now.Sub(w.Due)
			}
			v.Waiting++
		}
	}
}

// Alive returns how many workers are there.
func (v View) Alive() (n int) {
	for _, w := range v.Workers {
		if !w.Died {
			n++
		}
	}
	return n
}

// Busy returns how many turns a worker has in hand.
func (v View) Busy(worker string) (n int) {
	for _, t := range v.Turns {
		if t.Worker == worker {
			n++
		}
	}
	return n
}

// Leaves says what a worker leaves to others, a line for each reason.
func (w WorkerView) Leaves() (lines []string) {
	if w.Died {
		return nil
	}
	of := map[string][]string{}
	for _, connector := range slices.Sorted(maps.Keys(w.Lacks)) {
		why := w.Lacks[connector].Why
		of[why] = append(of[why], connector)
	}
	for _, why := range slices.Sorted(maps.Keys(of)) {
		lines = append(lines, words.Clean(fmt.Sprintf("%s leaves %s to others: %s", w.ID, some(of[why]), why)))
	}
	return lines
}

// some names the first connectors, and counts the others.
func some(connectors []string) string {
	const named = 3
	text := strings.Join(connectors[:min(len(connectors), named)], ", ")
	if more := len(connectors) - named; more > 0 {
		text += " and " + words.Count(int64(more)) + " more"
	}
	return text
}

// Nobody says which connectors are due that each worker lacks, and what to do; "" if there are none.
func (v View) Nobody() string {
	takes := slices.DeleteFunc(slices.Clone(v.Workers), func(w WorkerView) bool { return w.Died || w.Draining })
	var all []string
	var first string
	for _, wait := range v.Waits {
		if len(takes) == 0 || wait.Due.After(v.Now) || slices.ContainsFunc(takes, func(w WorkerView) bool { return w.Lacks[wait.Connector].Why == "" }) {
			continue
		}
		if all == nil {
			first = takes[0].Lacks[wait.Connector].Why
		}
		all = append(all, wait.Connector)
	}
	if all == nil {
		return ""
	}
	return words.Clean(fmt.Sprintf("No worker can take %s: %s; copy its file or set its secret on one of them", some(all), first))
}

// Lease returns how long the lease of a turn lasts, unless it is renewed; 0 if it has none.
func (v View) Lease(t TurnView) time.Duration {
	if t.Epoch == 0 {
		return 0
	}
	return max(0, t.Expires.Sub(v.Now))
}

// Facts returns what reports say of the fleet beside a store: nothing if there is no worker.
func Facts(ctx context.Context, db store.Reader) report.Fleet {
	v, there, err := Look(ctx, db)
	if !there || err != nil {
		return report.Fleet{} // who looks at the store says so
	}
	return v.facts()
}

func (v View) facts() report.Fleet {
	if v.Alive() == 0 {
		return report.Fleet{}
	}
	f := report.Fleet{Turns: map[string]time.Time{}, InHand: map[string]collection.Holder{}}
	processes := map[string]collection.Holder{}
	for _, w := range v.Workers {
		processes[w.ID] = collection.Holder{Host: w.Host, PID: w.PID}
		if !w.Died {
			f.Workers = append(f.Workers, processes[w.ID])
		}
	}
	for _, t := range v.Turns {
		f.Turns[t.Connector], f.InHand[t.Connector] = t.Since, processes[t.Worker]
	}
	for _, w := range v.Waits {
		if _, works := f.Turns[w.Connector]; !works {
			f.Turns[w.Connector] = w.Due
		}
	}
	return f
}

// Sentence says how a fleet stands.
func (v View) Sentence() string {
	alive := v.Alive()
	text := words.Counted(int64(alive), "worker", "workers")
	if died := len(v.Workers) - alive; died > 0 {
		text += fmt.Sprintf(" (%d died)", died)
	}
	text += fmt.Sprintf(", %s at work, %d due", words.Counted(int64(len(v.Turns)), "turn", "turns"), v.Waiting)
	if v.Waiting > 0 && v.Oldest > 0 {
		text += " (the oldest for " + words.Span(v.Oldest.Round(time.Second)) + ")"
	}
	if v.Later > 0 {
		text += fmt.Sprintf(", %d later (the first %s)", v.Later, words.At(v.Next, v.Now))
	}
	if alive == 0 && len(v.Waits) > 0 {
		text += ". Nobody works: start a worker with: collect worker"
	}
	if nobody := v.Nobody(); nobody != "" {
		text += ". " + nobody
	}
	return text
}

// Has reports whether there is, or was, a fleet beside a store.
func Has(ctx context.Context, db store.Reader) (there bool, err error) {
	served, ok := db.(*postgres.Store)
	if !ok {
		return false, nil
	}
	err = served.Beside(ctx, &there, `SELECT to_regclass('fleet_version') IS NOT NULL`)
	return there, err
}

// Orders returns the newest n orders of people, newest first, of a fleet that is there.
func Orders(ctx context.Context, db store.Reader, n int) (all []OrderView, err error) {
	return all, look(ctx, db, &all, ordersQuery, n)
}

// look reads what a query returns as JSON.
func look(ctx context.Context, db store.Reader, into any, query string, args ...any) error {
	var text string
	if err := db.(*postgres.Store).Beside(ctx, &text, query, args...); err != nil { // Has says so
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// viewQuery is a [View] as JSON: one statement sees one state of the database.
//
// A column that came after the second version is read from the whole row: nobody has brought the tables
// up to date, perhaps, when a newer collect looks.
const viewQuery = `SELECT json_build_object('now', clock_timestamp(), 'began', pg_postmaster_start_time(),
	'workers', (SELECT json_agg(json_build_object('id', id, 'host', host, 'pid', pid, 'version', version, 'atMost', at_most,
			'since', started_at, 'seen', seen_at, 'draining', draining,
			'lacks', to_jsonb(fleet_workers) -> 'lacks') ORDER BY host, pid)
		FROM fleet_workers),
	'turns', (SELECT json_agg(json_build_object('connector', t.connector, 'worker', t.worker,
			'since', t.taken_at, 'epoch', coalesce(l.epoch, 0), 'expires', coalesce(l.expires_at, clock_timestamp())) ORDER BY t.taken_at)
		FROM fleet_turns t LEFT JOIN leases l ON l.connector = t.connector AND l.run IS NOT NULL
		WHERE t.worker IS NOT NULL),
	'waits', (SELECT json_agg(json_build_object('connector', connector, 'due', due_at) ORDER BY due_at, id)
		FROM fleet_turns WHERE worker IS NULL),
	'schedules', (SELECT json_agg(json_build_object('connector', connector, 'cron', cron, 'zone', zone,
			'jitter', (extract(epoch FROM jitter) * 1000000000)::bigint, 'catchUp', catch_up, 'next', next_at) ORDER BY connector)
		FROM fleet_schedules),
	'orders', (` + newestOrders + `20) AS newest))::text`

// ordersQuery is the newest orders as JSON.
const ordersQuery = `SELECT coalesce((` + newestOrders + `?1) AS newest), '[]')::text`

const newestOrders = `SELECT json_agg(json_build_object('at', at, 'kind', kind, 'connector', connector, 'who', who, 'why', why, 'what', what) ORDER BY id DESC)
	FROM (SELECT * FROM fleet_orders ORDER BY id DESC LIMIT `

// Words say what was ordered.
func (o OrderView) Words() string {
	switch o.Kind {
	case "enqueue":
		return "collect it now, by the workers"
	case "schedule.add":
		return "collect it at " + o.What
	case "schedule.remove":
		return "its schedule is taken away"
	}
	return o.Kind
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
	Waits     []WaitLine     `json:"waits"`   // by when they are due
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
	Died     bool         `json:"died"`  // not heard of for 30 s
	Lacks    []LackLine   `json:"lacks"` // by connector
}

// A LackLine is a [Lack] as JSON.
type LackLine struct {
	Connector string       `json:"connector"`
	Why       string       `json:"why"`
	Until     jsonout.Time `json:"until"`
}

// A TurnLine is a TurnView as JSON.
type TurnLine struct {
	Connector string       `json:"connector"`
	Worker    string       `json:"worker"`
	Since     jsonout.Time `json:"since"`
	Epoch     int64        `json:"epoch"`
	Expires   jsonout.Time `json:"lease_expires_at"`
}

// A WaitLine is a WaitView as JSON.
type WaitLine struct {
	Connector string       `json:"connector"`
	Due       jsonout.Time `json:"due_at"`
	Lag       float64      `json:"lag"` // seconds that it is due
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
		Workers: []WorkerLine{}, Turns: []TurnLine{}, Waits: []WaitLine{}, Schedules: ScheduleLines(v.Schedules), Orders: []OrderLine{}}
	for _, w := range v.Workers {
		lacks := []LackLine{}
		for _, connector := range slices.Sorted(maps.Keys(w.Lacks)) {
			lack := w.Lacks[connector]
			lacks = append(lacks, LackLine{connector, lack.Why, jsonout.Time(lack.Until)})
		}
		l.Workers = append(l.Workers, WorkerLine{w.ID, w.Host, w.PID, w.Version, w.AtMost, jsonout.Time(w.Since), jsonout.Time(w.Seen), w.Draining, w.Died, lacks})
	}
	for _, t := range v.Turns {
		l.Turns = append(l.Turns, TurnLine{t.Connector, t.Worker, jsonout.Time(t.Since), t.Epoch, jsonout.Time(t.Expires)})
	}
	for _, w := range v.Waits {
		l.Waits = append(l.Waits, WaitLine{w.Connector, jsonout.Time(w.Due), max(0, v.Now.Sub(w.Due)).Seconds()})
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

package fleet

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"collect/store"
	"collect/store/postgres"
)

// A CatchUp says what becomes of a time at which no worker was there.
type CatchUp string

// The policies.
const (
	Once CatchUp = "once" // one late turn, however many times were missed
	None CatchUp = "none" // the next time is waited for
)

// late is how late a turn may be due under [None].
const late = time.Minute

// A Schedule says when turns of a connector are due.
type Schedule struct {
	Connector string
	Cron      string        // five fields, or @hourly and the like, as crontab(5) has them
	Zone      string        // of the cron line, a name of the IANA database; "": UTC
	Jitter    time.Duration // a turn is due up to that much later, by chance
	CatchUp   CatchUp
	Next      time.Time // when the next turn is due; set by the fleet
}

// next returns when a turn is due after a time.
func (s Schedule) next(after time.Time) (time.Time, error) {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("no time zone %q", s.Zone)
	}
	line, err := cron.ParseStandard(withSunday(s.Cron))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no schedule: five fields, minute (0-59), hour (0-23), day (1-31), month (1-12) and day of the week (0-7, 0 and 7 are Sunday), or one such as @daily", s.Cron)
	}
	at := line.Next(after.In(zone))
	if at.IsZero() {
		return at, fmt.Errorf("%q names no time within five years", s.Cron)
	}
	if s.Jitter > 0 {
		at = at.Add(rand.N(s.Jitter)) // #nosec G404 -- to spread load
	}
	return at, nil
}

// withSunday returns a line in the words of the parser, whose weeks begin on Sunday, 0. In
// crontab(5) that is 7, too, and a range may end with it.
func withSunday(line string) string {
	fields := strings.Fields(line)
	if len(fields) != 5 {
		return line
	}
	days := strings.Split(fields[4], ",")
	for i, day := range days {
		span, step, stepped := strings.Cut(day, "/")
		first, last, ranged := strings.Cut(span, "-")
		if span == "7" {
			days[i] = "0"
		}
		if !ranged || last != "7" && !strings.EqualFold(last, "sun") || strings.EqualFold(first, last) {
			continue
		}
		from := weekday(first)
		every, err := strconv.Atoi(cmp.Or(step, "1"))
		if from < 0 || err != nil || every < 1 || stepped && step == "" {
			continue // the parser says what is wrong
		}
		var each []string
		for n := from; n <= 7; n += every {
			each = append(each, strconv.Itoa(n%7))
		}
		days[i] = strings.Join(each, ",")
	}
	fields[4] = strings.Join(days, ",")
	return strings.Join(fields, " ")
}

// weekday returns the number of a day of the week, from 0 to 7; -1 if it is none.
func weekday(day string) int {
	if i := slices.Index(weekdays, strings.ToLower(day)); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(day); err == nil && n >= 0 && n <= 7 {
		return n
	}
	return -1
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Check returns what is wrong with a schedule.
func (s Schedule) Check() error {
	if s.Jitter < 0 {
		return fmt.Errorf("a jitter of %v", s.Jitter)
	}
	if s.CatchUp != Once && s.CatchUp != None {
		return fmt.Errorf("catch-up is %q, and must be once or none", s.CatchUp)
	}
	_, err := s.next(time.Now())
	return err
}

// Schedule makes turns of a connector due by a schedule from now on, in place of the one it
// has, by order of a person. It returns the schedule with the time of its first turn.
func (f *Fleet) Schedule(ctx context.Context, s Schedule, audit store.Audit) (Schedule, error) {
	err := f.change(ctx, func(tx postgres.Tx) error {
		var now time.Time
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
			return err
		}
		var err error
		if s.Next, err = s.next(now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO fleet_schedules (connector, cron, zone, jitter, catch_up, next_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (connector) DO UPDATE SET cron = $2, zone = $3, jitter = $4, catch_up = $5, next_at = $6, changed_at = clock_timestamp()`,
			s.Connector, s.Cron, s.Zone, s.Jitter, string(s.CatchUp), s.Next)
		if err != nil {
			return err
		}
		return record(ctx, tx, "schedule.add", s.Connector, s.Cron, audit)
	})
	return s, err
}

// Unschedule takes the schedule of a connector away, by order of a person, and reports whether
// there was one. A turn that is due stays.
func (f *Fleet) Unschedule(ctx context.Context, connector string, audit store.Audit) (there bool, err error) {
	err = f.change(ctx, func(tx postgres.Tx) error {
		done, err := tx.Exec(ctx, `DELETE FROM fleet_schedules WHERE connector = $1`, connector)
		if there = done.RowsAffected() > 0; err != nil || !there {
			return err
		}
		return record(ctx, tx, "schedule.remove", connector, "", audit)
	})
	return there, err
}

// Schedules returns all schedules, by connector.
func (f *Fleet) Schedules(ctx context.Context) (all []Schedule, err error) {
	all, err = schedules(ctx, f.pool, `ORDER BY connector`)
	return all, f.pool.Classify(err)
}

// schedules returns the schedules that a query names the rest of, as they are in a transaction
// or at a moment.
func schedules(ctx context.Context, in interface {
	Query(ctx context.Context, query string, args ...any) (postgres.Rows, error)
}, which string, args ...any) ([]Schedule, error) {
	rows, err := in.Query(ctx, `SELECT connector, cron, zone, jitter, catch_up, next_at FROM fleet_schedules `+which, args...)
	if err != nil {
		return nil, err
	}
	return read(rows, func(s *Schedule) []any { return []any{&s.Connector, &s.Cron, &s.Zone, &s.Jitter, &s.CatchUp, &s.Next} })
}

// wanted returns when the next turn of a connector is due, one that is due at a time or none: when its schedule
// wants one, if that is sooner.
func (w *Worker) wanted(ctx context.Context, connector string, at time.Time) time.Time {
	if !at.IsZero() && !at.After(time.Now()) {
		return at
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var next time.Time
	err := w.fleet.pool.QueryRow(ctx, `SELECT next_at FROM fleet_schedules WHERE connector = $1`, connector).Scan(&next)
	if err != nil || !at.IsZero() && at.Before(next) { // it has none, or the server is away, which a beat says
		return at
	}
	return next
}

// fire enqueues the turns that schedules want, and notes when they want the next. One
// worker does so at a time.
func (w *Worker) fire(ctx context.Context) error {
	var fired []string
	err := w.alone(ctx, "schedules", func(tx postgres.Tx) error {
		fired = nil
		var now time.Time
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
			return err
		}
		all, err := schedules(ctx, tx, `WHERE next_at <= $1 ORDER BY connector FOR UPDATE`, now)
		if err != nil {
			return err
		}
		for _, s := range all {
			at, err := s.next(now)
			if err != nil {
				return fmt.Errorf("the schedule of %s: %w", s.Connector, err)
			}
			if _, err := tx.Exec(ctx, `UPDATE fleet_schedules SET next_at = $2 WHERE connector = $1`, s.Connector, at); err != nil {
				return err
			}
			if s.CatchUp == None && now.Sub(s.Next) > late {
				continue
			}
			if err := w.fleet.enqueue(ctx, tx, s.Connector, time.Time{}); err != nil {
				return err
			}
			fired = append(fired, s.Connector)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, connector := range fired {
		w.Say(Event{Kind: ScheduleFired, Worker: w.id, Connector: connector})
	}
	return nil
}

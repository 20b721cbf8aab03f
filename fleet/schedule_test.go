package fleet_test

import (
	"strings"
	"testing"
	"time"

	"collect/engine/registry"
	"collect/fleet"
)

// TestSchedule: a turn that is due is given out once, however late and however many workers
// see it, and not at all where a late one is not wanted.
func TestSchedule(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"ants", "bees", "cats"} {
		p.add(name, 2)
	}
	begun := time.Now()
	for _, s := range []fleet.Schedule{
		{Connector: "ants", Cron: "*/15 * * * *", CatchUp: fleet.Once},
		{Connector: "bees", Cron: "@hourly", Zone: "Europe/Paris", Jitter: time.Hour, CatchUp: fleet.None},
		{Connector: "cats", Cron: "0 3 * * 1", CatchUp: fleet.Once},
	} {
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		got, err := p.fleet.Schedule(t.Context(), s, audit)
		if err != nil {
			t.Fatal(err)
		}
		if got.Next.Before(begun) || got.Next.After(begun.Add(8*24*time.Hour)) {
			t.Errorf("%s is due at %v", s.Connector, got.Next)
		}
	}
	if there, err := p.fleet.Unschedule(t.Context(), "cats", audit); !there || err != nil {
		t.Errorf("Unschedule: %t, %v", there, err)
	}
	if there, err := p.fleet.Unschedule(t.Context(), "cats", audit); there || err != nil {
		t.Errorf("Unschedule again: %t, %v", there, err)
	}
	// Nobody was there for two hours.
	if err := fleet.Exec(t.Context(), p.fleet, "UPDATE fleet_schedules SET next_at = clock_timestamp() - interval '2 hours'"); err != nil {
		t.Fatal(err)
	}
	one, two := p.start(nil), p.start(nil)
	for {
		all, err := p.fleet.Schedules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 2 && all[0].Next.After(begun) && all[1].Next.After(begun) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.finished("ants", "bees")
	one.drain()
	two.drain()
	if runs := p.exact("ants", 2); len(runs) != 1 {
		t.Errorf("ants ran %d times, want once", len(runs))
	}
	if n := p.asked["bees"] + p.asked["cats"]; n != 0 {
		t.Errorf("%d requests for what is not due", n)
	}
	var orders int
	if err := fleet.One(t.Context(), p.fleet, `SELECT count(*) FROM fleet_orders WHERE kind IN ('schedule.add', 'schedule.remove')`, &orders); err != nil || orders != 4 {
		t.Errorf("%d orders are recorded, want 4, %v", orders, err)
	}
}

// TestSunday: Sunday is 0, 7 and SUN, and a range may end with it, as in crontab(5).
func TestSunday(t *testing.T) {
	for days, want := range map[string]string{
		"0": "Sun", "7": "Sun", "SUN": "Sun", "sun": "Sun", "5-7": "Fri Sat Sun", "MON-SUN": "Mon Tue Wed Thu Fri Sat Sun", "0-7": "Mon Tue Wed Thu Fri Sat Sun",
		"1-7/2": "Mon Wed Fri Sun", "mon-sun/5": "Mon Sat", "6-7,2": "Tue Sat Sun", "1-5": "Mon Tue Wed Thu Fri", "*": "Mon Tue Wed Thu Fri Sat Sun", "sun-tue": "Mon Tue Sun",
	} {
		var got []string
		for at := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC); len(got) < 7; { // a Sunday, after its turn
			var err error
			if at, err = fleet.Due(fleet.Schedule{Cron: "0 3 * * " + days}, at); err != nil {
				t.Fatal(err)
			}
			if at.After(time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)) {
				break
			}
			got = append(got, at.Format("Mon"))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s is %s, want %s", days, got, want)
		}
	}
}

// TestBadSchedule: what cannot be meant is refused.
func TestBadSchedule(t *testing.T) {
	for _, s := range []fleet.Schedule{
		{Cron: "* * * *", CatchUp: fleet.Once}, {Cron: "61 * * * *", CatchUp: fleet.Once}, {Cron: "", CatchUp: fleet.Once},
		{Cron: "@hourly", Zone: "Mars/Base", CatchUp: fleet.Once}, {Cron: "@hourly", CatchUp: "thrice"},
		{Cron: "@hourly", Jitter: -1, CatchUp: fleet.Once}, {Cron: "0 0 31 2 *", CatchUp: fleet.Once},
		{Cron: "0 0 * * 8", CatchUp: fleet.Once}, {Cron: "0 0 * * 5-8", CatchUp: fleet.Once}, {Cron: "0 0 * * 1-7/", CatchUp: fleet.Once}, {Cron: "0 0 * * 1-7/0", CatchUp: fleet.Once},
	} {
		if err := s.Check(); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// TestFireAlone: schedules fire in one transaction on one connection, whoever has the others.
func TestFireAlone(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	w := p.start(func(c *fleet.Config) {
		c.AtMost = 1
		c.Registry = &registry.Registry{Env: func(string) string { return "" }}
	})
	w.await(fleet.WorkerStarted, "")
	release := fleet.OccupyAllButOne(t.Context(), t, w.Worker)
	defer release()
	if _, err := p.fleet.Schedule(t.Context(), fleet.Schedule{Connector: "ants", Cron: "@hourly", CatchUp: fleet.Once}, audit); err != nil {
		t.Fatal(err)
	}
	if err := fleet.Exec(t.Context(), p.fleet, "UPDATE fleet_schedules SET next_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	w.await(fleet.ScheduleFired, "ants")
}

// TestTheNextTurnIsTheSchedules: a turn after which nothing is left to do says when the schedule wants the next one.
func TestTheNextTurnIsTheSchedules(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 2)
	p.add("bees", 2)
	s, err := p.fleet.Schedule(t.Context(), fleet.Schedule{Connector: "ants", Cron: "@yearly", CatchUp: fleet.Once}, audit)
	if err != nil {
		t.Fatal(err)
	}
	w := p.start(nil)
	p.enqueue("ants")
	if e := w.await(fleet.TurnEnded, "ants"); !e.Next.Equal(s.Next) {
		t.Errorf("the next turn is due at %v, want %v", e.Next, s.Next)
	}
	p.enqueue("bees")
	if e := w.await(fleet.TurnEnded, "bees"); !e.Next.IsZero() {
		t.Errorf("the next turn is due at %v, want none", e.Next)
	}
	w.drain()
}

package fleet_test

import (
	"testing"
	"time"

	"collect/fleet"
)

// TestSummary: the few numbers that the status tells, by the connections of the store, are
// those of the whole view.
func TestSummary(t *testing.T) {
	p := newPlace(t)
	db := p.store(false)
	defer db.Close()
	check := func(want fleet.Summary) {
		t.Helper()
		got, there, err := fleet.Summarize(t.Context(), db)
		if err != nil || !there {
			t.Fatalf("Summarize = %t, %v", there, err)
		}
		v, _, err := fleet.Look(t.Context(), p.address)
		if err != nil {
			t.Fatal(err)
		}
		full := v.Summary()
		if !got.Next.Equal(full.Next) || got.Oldest > full.Oldest || got.Oldest > 0 != (full.Oldest > 0) || got.Now.After(full.Now) {
			t.Errorf("Summarize = %+v, and Look says %+v", got, full)
		}
		full.Oldest, full.Now, full.Next = 0, time.Time{}, time.Time{}
		got.Oldest, got.Now, got.Next = 0, time.Time{}, time.Time{}
		if got != full || got != want {
			t.Errorf("Summarize = %+v, Look says %+v, want %+v", got, full, want)
		}
	}
	check(fleet.Summary{})
	for _, name := range []string{"ants", "bees", "cats"} {
		p.add(name, 2)
	}
	if err := p.fleet.Enqueue(t.Context(), []string{"ants", "bees", "cats"}, audit); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{
		`UPDATE river_job SET state = 'scheduled', scheduled_at = clock_timestamp() + interval '1 hour' WHERE args ->> 'connector' = 'bees'`,
		`UPDATE river_job SET state = 'running', attempted_at = clock_timestamp(), attempted_by = '{w1}' WHERE args ->> 'connector' = 'cats'`,
		`INSERT INTO fleet_workers (id, host, pid, version, at_most, started_at, seen_at, lock, jobs) VALUES ('w1', 'h', 1, 'v', 2, clock_timestamp(), clock_timestamp(), 1, '{}')`,
	} {
		if err := fleet.Exec(t.Context(), p.fleet, change); err != nil {
			t.Fatal(err)
		}
	}
	check(fleet.Summary{Workers: 1, AtWork: 1, Waiting: 1, Later: 1})
}

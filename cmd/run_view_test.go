package cmd

import (
	"testing"
	"time"

	"collect/collection"
	"collect/report"
	"collect/store"
)

// paused is a run that reached its request cap and lost nothing.
func pausedRun() report.RunView {
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	run := collection.Run{
		ID: "01JD8Z0000000000", Connector: "tickets", Mode: collection.Forward, Lane: collection.Incremental,
		Outcome: collection.Deferred, Reason: collection.RequestCap, StartedAt: at(-120), EndedAt: at(-37),
		Tally:  collection.Tally{Requests: 14269, Retries: 9, Throttled: 9, Slices: 193, Records: 559702, Changed: 559000, GapsOpen: 3},
		Waited: map[collection.WaitCause]time.Duration{collection.WaitPacing: 24 * time.Minute, collection.WaitRetryAfter: 18 * time.Minute},
	}
	gap := func(id int64, reason collection.Reason) collection.Event {
		return collection.Event{Time: at(-60), Kind: collection.GapOpened, Run: run.ID, Stream: "details", Gap: &collection.GapInfo{ID: id, Shape: collection.DetailGap, Reason: reason, Kind: reason.Kind()}}
	}
	owed := []store.OwnedGap{{Connector: "tickets", Gap: collection.Gap{ID: 31, Place: collection.Place{Stream: "issues", Lane: collection.Incremental}, Reason: collection.RequestCap, State: collection.GapOpen, Run: run.ID}}}
	return report.RunView{
		Run: run, Now: noon, Owed: owed,
		Events: []collection.Event{
			{Time: at(-120), Kind: collection.RunStarted},
			{Time: at(-100), Kind: collection.RateChanged, Rate: &collection.RateInfo{Previous: 4, Learned: 2, Reason: "throttled"}},
			gap(32, collection.Forbidden), gap(33, collection.Forbidden),
			{Time: at(-37), Kind: collection.RunFinished},
		},
		Status: report.Status{Name: "tickets", Runs: []collection.Run{run}, Owed: owed, Count: 4, Account: &report.Account{Provider: "acme"}},
	}
}

// Pieces that are gone for good happened, and are not owed.
func TestGoneIsNotOwed(t *testing.T) {
	v := pausedRun()
	gone := func(id int64) collection.Event {
		return collection.Event{Kind: collection.GapOpened, Stream: "details", Gap: &collection.GapInfo{ID: id, Shape: collection.DetailGap, Reason: collection.Gone, Kind: collection.Gone.Kind()}}
	}
	for _, test := range []struct {
		events []collection.Event
		want   string
	}{
		{[]collection.Event{gone(7)}, "g_7 is not owed: gone for good"},
		{[]collection.Event{gone(7), gone(8)}, "2 gaps of details are not owed: gone for good"},
	} {
		v.Events = test.events
		if got := v.Happenings()[0].Words(); got != test.want {
			t.Errorf("%d gone gaps: %q, want %q", len(test.events), got, test.want)
		}
	}
}

// Of an older run the one after it goes on, whatever it left.
func TestAnOlderRunWasFollowed(t *testing.T) {
	older := pausedRun()
	older.Later = "01JD900000000000"
	say, commands := older.Next()
	if say != "a later run went on:" || len(commands) != 1 || commands[0] != "collect run-view 01JD900000000000" {
		t.Errorf("of an older run: %q, %q", say, commands)
	}
}

package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// pruned: what is old goes when a person orders it, and nothing else: no record, no
// checkpoint, nothing that is owed, no order, and not the newest run of each kind. What
// the runs add up to stays.
func pruned(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	commit(t, l, page(at, collection.Cursor{}, token("2"), "a"))
	deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.Forbidden})
	bad := page(home("issues"), collection.Cursor{}, token("2"), "b")
	bad.Rejected = []collection.Rejected{{Reason: "no_key", Data: []byte(`{"old":1}`)}}
	commit(t, l, bad)
	if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Failed, ExitCode: 70, Tally: collection.Tally{Requests: 3, Records: 2}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"run-2", "run-3", "run-4"} {
		l = begin(t, s, id)
		if err := l.Finish(t.Context(), collection.Run{Outcome: collection.Complete, Tally: collection.Tally{Requests: 10, Records: 5}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reset(t.Context(), connector, home("issues"), collection.Cursor{}, repaired); err != nil {
		t.Fatal(err)
	}
	// A run that is on is in nobody's way.
	l = begin(t, s, "run-5")
	runs, tally, err := s.Totals(t.Context(), connector)
	if err != nil {
		t.Fatal(err)
	}

	later := time.Now().Add(time.Hour)
	none := store.Prune{Events: time.Now().Add(-time.Hour), Runs: time.Now().Add(-time.Hour), Quarantine: time.Now().Add(-time.Hour)}
	if n, err := s.Prunable(t.Context(), connector, none); err != nil || n.Rows() != 0 {
		t.Errorf("of the last hour, %+v, %v may be pruned, want nothing", n, err)
	}
	all := store.Prune{Events: later, Runs: later, Quarantine: later}
	may, err := s.Prunable(t.Context(), connector, all)
	if err != nil || may.Runs != 2 || may.Quarantined != 1 || may.Events == 0 || may.Bytes <= 0 {
		t.Fatalf("Prunable = %+v, %v, want 2 runs, 1 rejected record and events", may, err)
	}
	var gone store.Pruned
	for {
		some, err := s.Prune(t.Context(), connector, all, repaired)
		if err != nil {
			t.Fatal(err)
		}
		if some.Rows() == 0 {
			break
		}
		gone = gone.Add(some)
	}
	if gone != may {
		t.Errorf("Prune removed %+v, and Prunable said %+v", gone, may)
	}

	list, err := s.Runs(t.Context(), connector, 10)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, run := range list {
		left = append(left, run.ID)
	}
	if want := []string{"run-5", "run-4", "run-1"}; !slices.Equal(left, want) {
		t.Errorf("the runs %v are left, want %v: one that is on, and the newest of each exit code", left, want)
	}
	if r, n, err := s.Totals(t.Context(), connector); err != nil || r != runs || n != tally {
		t.Errorf("the totals are %d runs, %+v, %v; they were %d, %+v", r, n, err, runs, tally)
	}
	checkOwed(t, s, "dead forbidden 1")
	checkCursor(t, l, at, token("2"))
	states, err := s.Streams(t.Context(), connector)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		if state.Name == "repos" && state.Records != 1 || state.Quarantined != 0 {
			t.Errorf("%s has %d records, %d in quarantine", state.Name, state.Records, state.Quarantined)
		}
	}
	events, err := s.Events(t.Context(), connector, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[collection.EventKind]string{collection.CheckpointReset: repaired.String(), collection.HistoryPruned: repaired.String()} {
		if !slices.ContainsFunc(events, func(e collection.Event) bool { return e.Kind == kind && e.Message == want }) {
			t.Errorf("no event %s says who did it and why", kind)
		}
	}
	// The run goes on as if nothing had happened.
	commit(t, l, page(home("issues"), collection.Cursor{}, token("3"), "c"))
	finish(t, l)
}

// prunedToRoom: of rejected records the newest are kept that have room.
func prunedToRoom(t *testing.T, open opener) {
	s, l := ledger(t, open)
	from := collection.Cursor{}
	for _, name := range []string{"1", "2", "3"} {
		sl := page(home("repos"), from, token(name), "k"+name)
		sl.Rejected = []collection.Rejected{{Reason: "no_key", Data: []byte(`{"bad":"` + name + `"}`)}}
		commit(t, l, sl)
		from = token(name)
	}
	finish(t, l)
	room := store.Prune{Room: int64(2 * len(`{"bad":"1"}`))}
	gone, err := s.Prune(t.Context(), connector, room, repaired)
	if err != nil || gone.Quarantined != 1 || gone.Rows() != 1 {
		t.Errorf("Prune = %+v, %v, want the oldest of three", gone, err)
	}
	if again, err := s.Prune(t.Context(), connector, room, repaired); err != nil || again.Rows() != 0 {
		t.Errorf("Prune once more = %+v, %v, want nothing", again, err)
	}
}

// prunedToSize: of events and runs the newest are kept that have room, and what is never
// removed.
func prunedToSize(t *testing.T, open opener) {
	s := open(t)
	for i := range 6 {
		l := begin(t, s, fmt.Sprintf("run-%d", i))
		commit(t, l, page(home("repos"), at(i), token(fmt.Sprint(i+1)), fmt.Sprintf("k%d", i)))
		finish(t, l)
	}
	before, tally, err := s.Totals(t.Context(), connector)
	if err != nil {
		t.Fatal(err)
	}
	size := store.Prune{EventsRoom: 1, RunsRoom: 400}
	may, err := s.Prunable(t.Context(), connector, size)
	if err != nil || may.Runs < 3 || may.Runs > 4 || may.Events == 0 {
		t.Fatalf("Prunable = %+v, %v, want all but the newest 2 or 3 of 6 runs, and events", may, err)
	}
	gone, err := s.Prune(t.Context(), connector, size, repaired)
	if err != nil || gone != may {
		t.Errorf("Prune = %+v, %v, want %+v", gone, err, may)
	}
	runs, err := s.Runs(t.Context(), connector, 10)
	if err != nil || len(runs) != 6-int(gone.Runs) || runs[0].ID != "run-5" {
		t.Errorf("%d runs are left, %v, want the newest", len(runs), err)
	}
	if n, all, err := s.Totals(t.Context(), connector); err != nil || n != before || all != tally {
		t.Errorf("the totals are %d runs, %+v, %v; they were %d, %+v", n, all, err, before, tally)
	}
	if again, err := s.Prune(t.Context(), connector, size, repaired); err != nil || again.Runs != 0 {
		t.Errorf("Prune once more = %+v, %v, want no run", again, err)
	}
}

// at returns the cursor that a walk is at after n slices.
func at(n int) collection.Cursor {
	if n == 0 {
		return collection.Cursor{}
	}
	return token(fmt.Sprint(n))
}

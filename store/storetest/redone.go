package storetest

import (
	"errors"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// redone: a place that is to be walked again stands at its start and owes that, and
// no other place moves. What it owed before is superseded.
func redone(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at, beside := part("issues", "x"), part("issues", "y")
	done := collection.Cursor{Since: "9", Done: true}
	marked := page(at, collection.Cursor{}, done, "a")
	marked.Records[0].Mark = collection.Mark{Scale: "number at", Value: "9"}
	commit(t, l, marked, page(beside, collection.Cursor{}, done, "b"))
	deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.BadPage})
	due := collection.Gap{Place: at, Version: "v2", Reason: collection.Differs, Detail: "one is missing"}
	held, err := s.Redo(t.Context(), connector, []collection.Gap{due}, repaired)
	if _, refused := errors.AsType[*store.HeldError](err); !refused || len(held) != 0 {
		t.Errorf("Redo beside a run = %+v, %v, want that the connector is held", held, err)
	}
	finish(t, l)

	opened, err := s.Redo(t.Context(), connector, []collection.Gap{due}, repaired)
	if err != nil || len(opened) != 1 || opened[0].ID == 0 || opened[0].State != collection.GapOpen {
		t.Fatalf("Redo = %+v, %v, want an open gap", opened, err)
	}
	checkOwed(t, s, "open differs 0")
	if lane := state(t, s, "issues").Lanes[0]; lane.Partitions != 2 || lane.Done != 1 {
		t.Errorf("%d of %d partitions are done, want 1 of 2", lane.Done, lane.Partitions)
	}

	l = begin(t, s, "run-2")
	checkCursor(t, l, at, collection.Cursor{})
	checkCursor(t, l, beside, done)
	leased := lease(t, l, time.Now(), 10)
	if len(leased) != 1 || leased[0].Place != at || leased[0].Cursor != (collection.Cursor{}) || leased[0].Version != "v2" {
		t.Fatalf("the next run leases %+v, want the gap at the start", leased)
	}
	again := page(at, collection.Cursor{}, done, "a")
	again.Records[0].Data, again.Records[0].Mark = []byte(`{"id":"a","v":2}`), collection.Mark{Scale: "number at", Value: "8"}
	if got := commit(t, l, again)[0]; len(got.Closed) != 1 || got.Changed != 1 {
		t.Errorf("the walk closes %+v and changes %d records, want the gap closed, and the record stored whatever its mark", got.Closed, got.Changed)
	}
	checkOwed(t, s)
	finish(t, l)
}

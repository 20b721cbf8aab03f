package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// goneIsTold: a place whose piece is gone says in which version it was, unless a person gave it up, also
// if it is asked for with others.
func goneIsTold(t *testing.T, open opener) {
	s, l := ledger(t, open)
	gone, missing := part("issues", "x"), part("issues", "y")
	gap := deferGap(t, l, true, collection.Gap{Place: gone, Version: "7", Reason: collection.Gone})
	deferGap(t, l, true, collection.Gap{Place: missing, Version: "7", Reason: collection.NotFound})
	check := func(l store.Ledger, want collection.PlaceState) {
		t.Helper()
		for _, places := range [][]collection.Place{{gone}, {gone, missing}} {
			states, err := l.Places(t.Context(), places)
			if err != nil {
				t.Fatal(err)
			}
			if got := states[0]; !got.Owed || got.Absent != want.Absent {
				t.Errorf("of %d places: %+v, want %+v", len(places), got, want.Absent)
			}
			if last := states[len(states)-1]; len(states) == 2 && last.Absent != (collection.Absence{}) {
				t.Errorf("a place that is not found is %+v", last)
			}
		}
	}
	check(l, collection.PlaceState{Absent: collection.Absence{Covers: "7", Since: gap.OpenedAt, Tried: gap.TriedAt}})
	finish(t, l)
	waive(t, s, gap.ID)
	check(begin(t, s, "run-2"), collection.PlaceState{})
}

// gapWaived: what a person gave up is kept, with who, when and why, and no run
// tries it, until it is revived.
func gapWaived(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	refused := deferGap(t, l, true, collection.Gap{Place: part("issues", "x"), Reason: collection.Forbidden})
	living := deferGap(t, l, true, collection.Gap{Place: part("issues", "y"), Reason: collection.RateLimited})
	left := page(at, collection.Cursor{}, token("2"))
	left.Leaves = &collection.Gap{Place: at, Reason: collection.BadPage}
	commit(t, l, left)
	standing := deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.BadPage})
	_, err := s.Waive(t.Context(), connector, []int64{refused.ID}, repaired)
	if held, ok := errors.AsType[*store.HeldError](err); !ok || held.Run.ID != "run-1" {
		t.Errorf("Waive beside a run: %v, want that run-1 holds it", err)
	}
	finish(t, l)
	var behind collection.Gap
	for _, gap := range gapsOf(t, s) {
		if gap.Place == at && gap.Cursor == (collection.Cursor{}) {
			behind = gap
		}
	}

	// Where the walk of a list stands, nothing can be given up; nor can another's.
	waived := waive(t, s, refused.ID, living.ID, behind.ID, standing.ID, 4711)
	if got := idsOf(waived); !slices.Equal(got, []int64{refused.ID, living.ID, behind.ID}) {
		t.Fatalf("Waive = %v, want the gaps %d, %d and %d", got, refused.ID, living.ID, behind.ID)
	}
	stored := gapsOf(t, s)
	for _, gap := range waived {
		if !gap.Waived() || !gap.Settled() || gap.State != collection.GapDead || gap.Waiver.Who != repaired.Who || gap.Waiver.Why != repaired.Why {
			t.Errorf("waived, it is %+v", gap)
		}
		if i := slices.IndexFunc(stored, func(g collection.Gap) bool { return g.ID == gap.ID }); i < 0 || stored[i] != gap {
			t.Errorf("Waive = %+v, and %+v is stored", gap, stored)
		}
	}
	if again := waive(t, s, refused.ID); len(again) != 0 {
		t.Errorf("Waive again = %+v, want none", again)
	}
	checkWaivers(t, s, refused.ID, living.ID, behind.ID)

	// No run tries it, or takes it for one that it may walk anew; and what fails
	// there once more does not end the waiver.
	l = begin(t, s, "run-2")
	if got := idsOf(lease(t, l, time.Now().Add(time.Hour), 10)); !slices.Equal(got, []int64{standing.ID}) {
		t.Errorf("the next run leases %v, want only gap %d", got, standing.ID)
	}
	states, err := l.Places(t.Context(), []collection.Place{refused.Place})
	if err != nil || !states[0].Owed {
		t.Errorf("Places = %+v, %v, want that a gap stands there", states, err)
	}
	if again := deferGap(t, l, true, collection.Gap{Place: living.Place, Reason: collection.RateLimited}); !again.Waived() || again.State != collection.GapDead {
		t.Errorf("renewed, it is %+v, want it waived", again)
	}
	// Its records may come all the same, and then it ends.
	sl := page(living.Place, collection.Cursor{}, collection.Cursor{Done: true}, "a")
	if done := commit(t, l, sl)[0]; len(done.Closed) != 1 || done.Closed[0].ID != living.ID {
		t.Errorf("Closed = %+v, want gap %d", done.Closed, living.ID)
	}
	finish(t, l)

	// What is revived is owed again.
	if got := revive(t, s, refused.ID); len(got) != 1 || got[0].Waived() || got[0].State != collection.GapOpen {
		t.Errorf("Revive = %+v, want gap %d, open and not waived", got, refused.ID)
	}
	for _, gap := range gapsOf(t, s) {
		if gap.Waived() != (gap.ID == behind.ID) {
			t.Errorf("after it was revived: %+v", gap)
		}
	}
}

func gapsOf(t *testing.T, s store.Store) (gaps []collection.Gap) {
	t.Helper()
	all, err := s.Gaps(t.Context(), connector)
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range all {
		gaps = append(gaps, gap.Gap)
	}
	return gaps
}

func idsOf(gaps []collection.Gap) (ids []int64) {
	for _, gap := range gaps {
		ids = append(ids, gap.ID)
	}
	return ids
}

func waive(t *testing.T, s store.Store, gaps ...int64) []collection.Gap {
	t.Helper()
	waived, err := s.Waive(t.Context(), connector, gaps, repaired)
	if err != nil {
		t.Fatalf("Waive: %v", err)
	}
	return waived
}

// checkWaivers checks that these gaps, and no others, are told to have been
// waived, with who did it and why. (I21.)
func checkWaivers(t *testing.T, s store.Store, want ...int64) {
	t.Helper()
	events, err := s.Events(t.Context(), connector, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, e := range events {
		if e.Kind == collection.GapWaived {
			got = append(got, e.Gap.ID)
			if !strings.Contains(e.Message, repaired.Who) || !strings.Contains(e.Message, repaired.Why) {
				t.Errorf("%+v: want who and why", e)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the gaps %v are told to be waived, want %v", got, want)
	}
}

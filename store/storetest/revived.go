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

// repaired is who revives gaps in these tests, and why.
var repaired = store.Audit{Who: "kim", Why: "access was granted", Holder: collection.Holder{Host: "here", PID: 1}}

// gapRevived: a gap that is dead lives its life once more, and nothing else of
// its place changes.
func gapRevived(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	commit(t, l, page(at, collection.Cursor{}, token("2"), "a"))
	var tired collection.Gap
	for range collection.MaxGapAttempts {
		tired = deferGap(t, l, true, collection.Gap{Place: at, Cursor: token("2"), Reason: collection.UpstreamPressure, Version: "v2"})
	}
	refused := deferGap(t, l, true, collection.Gap{Place: part("issues", "x"), Reason: collection.Forbidden, Detail: "403"})
	checkOwed(t, s, "dead upstream_pressure 8", "dead forbidden 1")
	finish(t, l)

	revived := revive(t, s, refused.ID, tired.ID)
	if len(revived) != 2 || revived[0].ID != refused.ID || revived[1].ID != tired.ID {
		t.Fatalf("Revive = %+v, want both gaps, in the order asked for", revived)
	}
	checkOwed(t, s, "open upstream_pressure 0", "open forbidden 0")
	gaps, err := s.Gaps(t.Context(), connector)
	if err != nil {
		t.Fatal(err)
	}
	for i, was := range []collection.Gap{tired, refused} {
		got := gaps[i].Gap
		if got.ID != was.ID || got.Cursor != was.Cursor || got.Version != was.Version || got.Detail != was.Detail ||
			!got.TriedAt.Equal(was.TriedAt) || !got.NotBefore.IsZero() || !got.Revived() {
			t.Errorf("revived, %+v became %+v", was, got)
		}
		if j := slices.IndexFunc(revived, func(g collection.Gap) bool { return g.ID == was.ID }); revived[j] != got {
			t.Errorf("Revive = %+v, and %+v is stored", revived[j], got)
		}
	}

	// The next run may try them at once. The one that is filled is closed, and
	// the one that fails has its tries before it.
	l = begin(t, s, "run-2")
	checkCursor(t, l, at, token("2"))
	if got := lease(t, l, time.Now(), 10); len(got) != 2 {
		t.Fatalf("the next run leases %+v, want both gaps", got)
	}
	fill := page(at, token("2"), token("3"), "b")
	fill.Fills = tired.ID
	if done := commit(t, l, fill)[0]; len(done.Closed) != 1 || done.Closed[0].ID != tired.ID {
		t.Errorf("Closed = %+v, want gap %d", done.Closed, tired.ID)
	}
	if stopped := deferGap(t, l, false, collection.Gap{Place: refused.Place, Reason: collection.Auth}); stopped.Attempts != 0 || stopped.Revived() || stopped.Kind() != collection.Stuck {
		t.Errorf("stopped by a token that is refused it is %+v, want that it needs a person, with its tries before it", stopped)
	}
	refused.Reason = collection.BadPage
	for i := range collection.MaxGapAttempts {
		gap := deferGap(t, l, true, refused)
		want := collection.GapOpen
		if i+1 == collection.MaxGapAttempts {
			want = collection.GapDead
		}
		if gap.ID != refused.ID || gap.State != want || gap.Attempts != i+1 || gap.Revived() {
			t.Errorf("after attempt %d it is %+v, want gap %d, %s", i+1, gap, refused.ID, want)
		}
	}
	finish(t, l)

	// Dead again, it is revived again.
	if got := revive(t, s, refused.ID); len(got) != 1 {
		t.Errorf("Revive of what died again = %+v, want it", got)
	}
	checkOwed(t, s, "open bad_page 0")
	checkRevivals(t, s, refused.ID, tired.ID, refused.ID)
}

// gapNotRevived: whatever is not dead, or another's, stays as it is, and says
// nothing.
func gapNotRevived(t *testing.T, open opener) {
	s, l := ledger(t, open)
	at := home("repos")
	dead := deferGap(t, l, true, collection.Gap{Place: part("issues", "x"), Reason: collection.NotFound})
	living := deferGap(t, l, true, collection.Gap{Place: part("issues", "y"), Reason: collection.BadPage})
	ended := deferGap(t, l, true, collection.Gap{Place: at, Reason: collection.TooLarge})
	commit(t, l, page(at, collection.Cursor{}, token("2"), "a"))

	// Not while a run is under way, whose gaps they are.
	_, err := s.Revive(t.Context(), connector, []int64{dead.ID}, repaired)
	if held, ok := errors.AsType[*store.HeldError](err); !ok || held.Run.ID != "run-1" {
		t.Errorf("Revive beside a run: %v, want that run-1 holds it", err)
	}
	checkOwed(t, s, "dead not_found 1", "open bad_page 1")
	finish(t, l)

	run := newRun("other-1")
	run.Connector = "other"
	other, err := s.Begin(t.Context(), run, streams)
	if err != nil {
		t.Fatal(err)
	}
	theirs := deferGap(t, other, true, collection.Gap{Place: at, Reason: collection.Gone})
	finish(t, other)

	before, err := s.Gaps(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := revive(t, s, living.ID, ended.ID, theirs.ID, 4711); len(got) != 0 {
		t.Errorf("Revive = %+v, want none", got)
	}
	if after, err := s.Gaps(t.Context(), ""); err != nil || !slices.Equal(after, before) {
		t.Errorf("owed %+v, %v, want %+v as before", after, err, before)
	}
	checkRevivals(t, s)

	// Twice is once, and a gap that is alive does not keep the others from it.
	if got := revive(t, s, living.ID, dead.ID, dead.ID); len(got) != 1 || got[0].ID != dead.ID {
		t.Errorf("Revive = %+v, want gap %d once", got, dead.ID)
	}
	if got := revive(t, s, dead.ID); len(got) != 0 {
		t.Errorf("Revive again = %+v, want none", got)
	}
	checkOwed(t, s, "open not_found 0", "open bad_page 1")
	checkRevivals(t, s, dead.ID)
}

// gapHastened: what only cools is tried at once, and what the provider asked us to
// wait for is not.
func gapHastened(t *testing.T, open opener) {
	s, l := ledger(t, open)
	cools := deferGap(t, l, true, collection.Gap{Place: part("issues", "x"), Reason: collection.UpstreamPressure})
	asked := deferGap(t, l, true, collection.Gap{Place: part("issues", "y"), Reason: collection.RetryAfter, NotBefore: time.Now().Add(time.Hour)})
	if !cools.NotBefore.After(time.Now()) {
		t.Fatalf("it is tried at %v, and does not cool", cools.NotBefore)
	}
	finish(t, l)
	got := revive(t, s, cools.ID, asked.ID)
	if len(got) != 1 || got[0].ID != cools.ID || !got[0].NotBefore.IsZero() || got[0].Attempts != 1 || got[0].State != collection.GapOpen {
		t.Errorf("Revive = %+v, want gap %d at any time, with its attempt", got, cools.ID)
	}
	if got := revive(t, s, cools.ID); len(got) != 0 {
		t.Errorf("Revive again = %+v, want none", got)
	}
	l = begin(t, s, "run-2")
	if got := lease(t, l, time.Now(), 9); len(got) != 1 || got[0].ID != cools.ID {
		t.Errorf("Lease = %+v, want gap %d alone", got, cools.ID)
	}
}

func revive(t *testing.T, s store.Store, gaps ...int64) []collection.Gap {
	t.Helper()
	revived, err := s.Revive(t.Context(), connector, gaps, repaired)
	if err != nil {
		t.Fatalf("Revive: %v", err)
	}
	return revived
}

// checkRevivals checks that these gaps, and no others, are told to have been
// revived, in this order, with who did it and why. (I21.)
func checkRevivals(t *testing.T, s store.Store, want ...int64) {
	t.Helper()
	events, err := s.Events(t.Context(), connector, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, e := range events {
		if e.Kind != collection.GapRevived {
			continue
		}
		got = append(got, e.Gap.ID)
		if !strings.Contains(e.Message, repaired.Who) || !strings.Contains(e.Message, repaired.Why) || e.Gap.Attempts != 0 {
			t.Errorf("%+v, %+v: want who and why", e, e.Gap)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the gaps %v are told to be revived, want %v", got, want)
	}
}

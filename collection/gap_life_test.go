package collection_test

import (
	"fmt"
	"testing"
	"time"

	"collect/collection"
)

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// TestCooldown: under source pressure a gap waits for twice as long after each
// failed attempt, at most 64 minutes, and longer where it was told to. Other
// gaps wait for nothing but what they were told.
func TestCooldown(t *testing.T) {
	later := noon.Add(3 * time.Hour)
	for _, tc := range []struct {
		reason   collection.Reason
		told     time.Time
		attempts int // before this one
		want     time.Time
	}{
		{collection.RateLimited, time.Time{}, 0, noon.Add(2 * time.Minute)},
		{collection.UpstreamPressure, time.Time{}, 2, noon.Add(8 * time.Minute)},
		{collection.RetryAfter, time.Time{}, 6, noon.Add(64 * time.Minute)},
		{collection.RateLimited, noon.Add(time.Second), 0, noon.Add(2 * time.Minute)},
		{collection.RetryAfter, later, 0, later},
		{collection.RequestCap, time.Time{}, 3, time.Time{}},
		{collection.BadPage, later, 3, later},
	} {
		was := collection.Gap{ID: 7, Attempts: tc.attempts, OpenedAt: noon.Add(-time.Hour)}
		got := collection.Gap{Reason: tc.reason, NotBefore: tc.told}.Owed(&was, true, noon)
		if !got.NotBefore.Equal(tc.want) || got.Attempts != tc.attempts+1 || got.ID != 7 || !got.TriedAt.Equal(noon) || got.OpenedAt != was.OpenedAt {
			t.Errorf("%s told %v after %d attempts: %+v, want to wait until %v", tc.reason, tc.told, tc.attempts, got, tc.want)
		}
	}
}

// TestWhatWasNotTriedIsSoonDue: it says nothing of the piece that there was no connection.
func TestWhatWasNotTriedIsSoonDue(t *testing.T) {
	was := collection.Gap{ID: 7, Attempts: 3, OpenedAt: noon.Add(-time.Hour)}
	if got := (collection.Gap{Reason: collection.UpstreamPressure}).Owed(&was, false, noon); !got.NotBefore.Equal(noon.Add(10*time.Second)) || got.Attempts != 3 {
		t.Errorf("%+v, want it due in 10 s, and no attempt counted", got)
	}
}

// TestGapDies: after eight attempts that failed, and at once where nothing is to
// be had; a list that changes while it is read is none. What did not work is no attempt, and a dead gap that is reopened has
// eight more.
func TestGapDies(t *testing.T) {
	gap := collection.Gap{Reason: collection.BadPage}.Owed(nil, false, noon)
	for i := range collection.MaxGapAttempts {
		if gap.State != collection.GapOpen {
			t.Fatalf("%s after %d attempts", gap.State, i)
		}
		again := gap.Owed(&gap, false, noon)
		gap = again.Owed(&again, true, noon)
	}
	if gap.State != collection.GapDead || gap.Attempts != collection.MaxGapAttempts || gap.Kind() != collection.Stuck {
		t.Errorf("after %d attempts: %+v", collection.MaxGapAttempts, gap)
	}
	if gap = gap.Reopened(); gap.State != collection.GapOpen || gap.Attempts != 0 || !gap.Revived() {
		t.Errorf("reopened: %+v", gap)
	}
	moves := collection.Gap{Reason: collection.ListChanged}
	for range collection.MaxGapAttempts + 1 {
		if moves = moves.Owed(&moves, true, noon); moves.State != collection.GapOpen || !moves.NotBefore.IsZero() {
			t.Fatalf("a list that changes: %s, not before %v, after %d attempts", moves.State, moves.NotBefore, moves.Attempts)
		}
	}
	if gone := (collection.Gap{Reason: collection.Gone}).Owed(nil, false, noon); gone.State != collection.GapDead {
		t.Errorf("gone: %s, want dead at once", gone.State)
	}
}

// TestDue: which gaps a run may try.
func TestDue(t *testing.T) {
	for _, tc := range []struct {
		reason collection.Reason
		state  collection.GapState
		found  bool
		wait   time.Duration
		want   bool
	}{
		{collection.RequestCap, collection.GapOpen, true, time.Hour, true}, // planned: it waits for nothing
		{collection.RateLimited, collection.GapOpen, true, 0, true},
		{collection.RateLimited, collection.GapOpen, false, time.Second, false},
		{collection.BadPage, collection.GapOpen, true, 0, false}, // not twice in one run
		{collection.BadPage, collection.GapOpen, false, 0, true},
		{collection.BadPage, collection.GapDead, false, 0, false},
		{collection.ListChanged, collection.GapOpen, true, 0, false}, // it changes still
		{collection.ListChanged, collection.GapOpen, false, time.Hour, true},
		{collection.RequestCap, collection.GapLeased, false, 0, false},
	} {
		gap := collection.Gap{Reason: tc.reason, State: tc.state, NotBefore: noon.Add(tc.wait)}
		if got := gap.Due(tc.found, noon); got != tc.want {
			t.Errorf("%s: %t, want %t", fmt.Sprintf("%+v", tc), got, tc.want)
		}
	}
}

// TestAbsence: a piece that is gone is asked for again in another version, and a list from time to time.
func TestAbsence(t *testing.T) {
	ago := func(since, tried time.Duration) collection.Absence {
		return collection.Absence{Covers: "7", Since: noon.Add(-since), Tried: noon.Add(-tried)}
	}
	for _, test := range []struct {
		name    string
		absence collection.Absence
		version string
		role    collection.Role
		want    bool
	}{
		{"it is there", collection.Absence{}, "7", collection.List, false},
		{"another version", ago(time.Minute, time.Minute), "8", collection.Detail, true},
		{"just now", ago(time.Minute, time.Minute), "7", collection.List, false},
		{"after an hour", ago(time.Hour, time.Hour), "7", collection.List, true},
		{"a detail", ago(time.Hour, time.Hour), "7", collection.Detail, false},
		{"tried after four hours, three ago", ago(7*time.Hour, 3*time.Hour), "7", collection.List, false},
		{"tried after four hours, four ago", ago(8*time.Hour, 4*time.Hour), "7", collection.List, true},
	} {
		if got := test.absence.Due(test.version, test.role, noon); got != test.want {
			t.Errorf("%s: due: %t, want %t", test.name, got, test.want)
		}
	}
}

package storetest

import (
	"reflect"
	"testing"
	"time"

	"collect/collection"
	"collect/store"
)

// past: of what happened since a time there are the runs that were on and the events of the
// kinds that were asked for, of the connectors that were named or of all, oldest first.
func past(t *testing.T, open opener) {
	s := opened(t, open)
	noon := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	ago := func(hours int) time.Time { return noon.Add(-time.Duration(hours) * time.Hour) }
	for _, r := range []struct {
		connector, id string
		began, ended  int // hours ago; ended 0: it is on
	}{
		{"acme", "a-1", 9, 8}, {"other", "o-1", 9, 8}, {"acme", "a-2", 6, 4}, {"acme", "a-3", 3, 2}, {"third", "t-1", 3, 2}, {"other", "o-2", 1, 0},
	} {
		run := newRun(r.id)
		run.Connector, run.StartedAt = r.connector, ago(r.began)
		l, err := s.Begin(t.Context(), run, streams)
		if err != nil {
			t.Fatal(err)
		}
		events := []collection.Event{
			{Time: ago(r.began), Kind: collection.RateChanged, Rate: &collection.RateInfo{Learned: 2, Previous: 1}},
			{Time: ago(r.began), Kind: collection.BreakerChanged, Breaker: &collection.BreakerInfo{State: "open", Previous: "closed"}},
			{Time: ago(r.began), Kind: collection.Throttled},
		}
		if err := l.SaveProvider(t.Context(), r.connector, []byte(`{}`), events...); err != nil {
			t.Fatal(err)
		}
		if r.ended == 0 {
			continue
		}
		run.Outcome, run.EndedAt = collection.Complete, ago(r.ended)
		if err := l.Finish(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	kinds := []collection.EventKind{collection.RateChanged, collection.BreakerChanged}
	for _, c := range []struct {
		connectors []string
		runs       []string
		events     []string
	}{
		{nil, []string{"a-2", "a-3", "t-1", "o-2"}, []string{"a-3", "a-3", "t-1", "t-1", "o-2", "o-2"}},
		{[]string{"acme"}, []string{"a-2", "a-3"}, []string{"a-3", "a-3"}},
		{[]string{"other", "third"}, []string{"t-1", "o-2"}, []string{"t-1", "t-1", "o-2", "o-2"}},
		{[]string{"nobody"}, nil, nil},
	} {
		got, err := s.Past(t.Context(), ago(5), kinds, c.connectors...)
		var runs, events []string
		for _, r := range got.Runs {
			runs = append(runs, r.ID)
		}
		for i, e := range got.Events {
			if events = append(events, e.Run); e.Kind != kinds[i%2] {
				t.Errorf("%v: event %d is %s", c.connectors, i, e.Kind)
			}
		}
		if err != nil || !reflect.DeepEqual(runs, c.runs) || !reflect.DeepEqual(events, c.events) {
			t.Errorf("Past of %v = runs %v, events of %v, %v; want %v and %v", c.connectors, runs, events, err, c.runs, c.events)
		}
		if (len(c.runs) > 0) != !got.Oldest.IsZero() {
			t.Errorf("the oldest event of %v is of %v", c.connectors, got.Oldest)
		}
	}
	if got, err := s.Past(t.Context(), ago(9), nil); err != nil || len(got.Events) != 0 || len(got.Runs) != 6 {
		t.Errorf("Past of no kind = %+v, %v, want six runs", got, err)
	}
}

// gapsMoved: the hours in which gaps were opened, closed and waived, of one connector or of all.
func gapsMoved(t *testing.T, open opener) {
	s, l := ledger(t, open)
	before := time.Now().Add(-2 * time.Hour)
	for i, opened := range []time.Time{time.Now(), time.Now(), before.Add(-time.Hour)} {
		deferGap(t, l, true, collection.Gap{Place: part("issues", string("xyz"[i])), Reason: collection.Forbidden, OpenedAt: opened})
	}
	finish(t, l)
	owed, err := s.Gaps(t.Context(), connector)
	if err != nil || len(owed) != 3 {
		t.Fatalf("Gaps = %v, %v", owed, err)
	}
	sum := func(connectors ...string) (opened, closed int) {
		all, err := s.Moves(t.Context(), before, connectors...)
		if err != nil {
			t.Error(err)
		}
		for _, m := range all {
			if m.At.Before(before.Add(-time.Hour)) || m.At.After(time.Now()) {
				t.Errorf("a move of %v", m.At)
			}
			opened, closed = opened+m.Opened, closed+m.Closed
		}
		return opened, closed
	}
	if opened, closed := sum(); opened != 2 || closed != 0 {
		t.Errorf("Moves = %d opened, %d closed, want 2 and 0", opened, closed)
	}
	if waived, err := s.Waive(t.Context(), connector, []int64{owed[0].ID}, store.Audit{Who: "ana", Why: "it is broken"}); err != nil || len(waived) != 1 {
		t.Fatalf("Waive = %+v, %v", waived, err)
	}
	if opened, closed := sum("nobody", connector); opened != 2 || closed != 1 {
		t.Errorf("Moves after a waiver = %d opened, %d closed, want 2 and 1", opened, closed)
	}
	if opened, closed := sum("nobody"); opened+closed != 0 {
		t.Errorf("Moves of nobody = %d opened, %d closed", opened, closed)
	}
}

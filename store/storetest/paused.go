package storetest

import (
	"testing"

	"collect/collection"
	"collect/store"
)

// paused: who paused a connector is kept, beside a run that is on, until it is let run
// again; each change is an order of its own.
func paused(t *testing.T, open opener) {
	s, l := ledger(t, open)
	pause := func(on, changes bool) {
		t.Helper()
		changed, err := s.Pause(t.Context(), connector, on, repaired)
		if err != nil || changed != changes {
			t.Errorf("Pause(%t) = %t, %v; want %t", on, changed, err, changes)
		}
		p, err := s.Paused(t.Context(), connector)
		if err != nil || p.At.IsZero() == on || on && (p.Who != repaired.Who || p.Why != repaired.Why) {
			t.Errorf("after Pause(%t), Paused = %+v, %v", on, p, err)
		}
	}
	pause(false, false)
	pause(true, true)
	again := store.Audit{Who: "somebody else", Why: "for another reason"}
	if changed, err := s.Pause(t.Context(), connector, true, again); err != nil || changed {
		t.Errorf("a second Pause = %t, %v; want no change", changed, err)
	}
	pause(true, false) // and it is still of the first
	if p, err := s.Paused(t.Context(), "another"); err != nil || !p.At.IsZero() {
		t.Errorf("Paused of another = %+v, %v", p, err)
	}
	finish(t, l)
	pause(false, true)

	want := []collection.EventKind{collection.ConnectorUnpaused, collection.ConnectorPaused}
	for _, of := range []string{connector, ""} {
		got, err := s.Orders(t.Context(), of, 10)
		if err != nil || len(got) != len(want) {
			t.Fatalf("Orders(%q) = %d, %v; want %v", of, len(got), err, want)
		}
		for i, e := range got {
			if e.Kind != want[i] || e.Message != repaired.String() || e.Connector != connector || e.Time.IsZero() {
				t.Errorf("Orders(%q)[%d] = %+v, want %s", of, i, e, want[i])
			}
		}
	}
	if got, err := s.Orders(t.Context(), "", 1); err != nil || len(got) != 1 || got[0].Kind != want[0] {
		t.Errorf("the newest order is %+v, %v", got, err)
	}
	if got, err := s.Orders(t.Context(), "another", 10); err != nil || len(got) != 0 {
		t.Errorf("orders of another: %+v, %v", got, err)
	}
}

// ordered: of the changes of a breaker and a freeze, those count that a person made.
func ordered(t *testing.T, open opener) {
	s, l := ledger(t, open)
	for i, e := range []collection.Event{
		{Kind: collection.BreakerChanged, Breaker: &collection.BreakerInfo{State: "open", Trigger: "failures"}},
		{Kind: collection.BreakerChanged, Breaker: &collection.BreakerInfo{State: "open", Trigger: "operator"}, Message: "1"},
		{Kind: collection.FreezeChanged, Freeze: &collection.FreezeInfo{Frozen: true, Reason: "forbidden"}},
		{Kind: collection.FreezeChanged, Freeze: &collection.FreezeInfo{Reason: "released_by_operator"}, Message: "3"},
		{Kind: collection.RateChanged, Rate: &collection.RateInfo{}},
	} {
		if err := l.SaveProvider(t.Context(), "acme/1", []byte(`{}`), e); err != nil {
			t.Fatal(i, err)
		}
	}
	got, err := s.Orders(t.Context(), connector, 10)
	if err != nil || len(got) != 2 || got[0].Message != "3" || got[1].Message != "1" {
		t.Errorf("Orders = %+v, %v; want what a person did", got, err)
	}
}

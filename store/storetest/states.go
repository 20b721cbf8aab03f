package storetest

import (
	"reflect"
	"testing"

	"collect/store"
)

// statesAgree checks that what is read of all connectors at once is what is read of each
// and of each part of it.
func statesAgree(t *testing.T, s store.Store) {
	t.Helper()
	defer s.Close()
	names, err := s.Connectors(t.Context())
	if err != nil {
		return // what was done to the store is not told twice
	}
	all, err := s.States(t.Context(), "")
	if err != nil || len(all) != len(names) {
		t.Fatalf("States of all = %d, %v, want %q", len(all), err, names)
	}
	for i, name := range names {
		one, err := s.States(t.Context(), name)
		if err != nil || len(one) != 1 || !reflect.DeepEqual(one[0], all[i]) {
			t.Errorf("States(%s) = %+v, %v, and of all %+v", name, one, err, all[i])
		}
		want := store.ConnectorState{Connector: name}
		var errs [4]error
		want.Streams, errs[0] = s.Streams(t.Context(), name)
		want.Gaps, errs[1] = s.Gaps(t.Context(), name)
		want.Pause, errs[2] = s.Paused(t.Context(), name)
		want.Runs, want.All, errs[3] = s.Totals(t.Context(), name)
		if errs != [4]error{} {
			t.Fatal(errs)
		}
		runs, err := s.Runs(t.Context(), name, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == 1 {
			want.Newest = &runs[0]
			events, err := s.Events(t.Context(), name, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Run == runs[0].ID && e.Metrics != nil {
					want.Newest.Metrics = *e.Metrics
				}
			}
			for _, domain := range runs[0].Domains() {
				state, err := s.Provider(t.Context(), domain)
				if err != nil {
					t.Fatal(err)
				}
				want.Accounts = append(want.Accounts, state)
			}
		}
		if !reflect.DeepEqual(all[i], want) {
			t.Errorf("States has %+v of %s, and its parts are %+v", all[i], name, want)
		}
	}
	if none, err := s.States(t.Context(), "nobody at all"); err != nil || len(none) != 0 {
		t.Errorf("States of nobody = %v, %v", none, err)
	}
}

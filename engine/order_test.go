package engine

import (
	"path/filepath"
	"testing"
	"time"

	"collect/collection"
	"collect/engine/enginetest"
	"collect/pacing/gate"
	"collect/pacing/law"
	"collect/report/problem"
	"collect/store"
	"collect/store/sqlite"
)

// TestOrdersEditWhatStands: a run that begins, is refused and ends between an
// operator's look and the order is not overwritten: its freeze stays, and an
// order to release what was there before is none for this one.
func TestOrdersEditWhatStands(t *testing.T) {
	unpaced := collection.Provider{Name: "acme", Unpaced: true}
	refused := func(state []byte, now time.Time) []byte {
		g, err := gate.New(unpaced, "", time.Hour, 1)
		if err == nil {
			err = g.Restore(state, now)
		}
		if err != nil {
			t.Fatal(err)
		}
		g.Settle(now, g.Leave(&gate.Request{}, now), &gate.Outcome{Signal: law.Answered, Hold: -1, Refused: "forbidden"})
		return g.Snapshot(now)
	}
	release := func(state []byte, now time.Time, _ string) ([]byte, []collection.Event, error) {
		return gate.Release(state, now)
	}
	for _, tc := range []struct {
		name  string
		stood bool // a freeze, when the operator looked
		order Order
		code  int
		held  string // the breaker afterwards
	}{
		{"hold the breaker", false, Order{Apply: gate.ForceOpen}, problem.ExitOK, gate.Open},
		{"release a freeze", true, Order{Apply: release}, problem.ExitLater, gate.Closed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			now := time.Now()
			first := enginetest.GateState(t, unpaced, now)
			if tc.stood {
				first = refused(first, now)
			}
			enginetest.Run(t, db, "run-1", func(l store.Ledger) error { return l.SaveProvider(t.Context(), "acme/1", first) })

			var alone Meeting
			given, err := alone.Prepare(t.Context(), db, "acme", "acme", AuditOf("settled"), tc.order)
			if err != nil || !given.Changes {
				t.Fatalf("Prepare = %+v, %v, want an order", given, err)
			}
			// The freeze of now, or after the first one's end.
			again := refused(first, now.Add(20*time.Minute))
			enginetest.Run(t, db, "run-2", func(l store.Ledger) error { return l.SaveProvider(t.Context(), "acme/1", again) })

			_, err = alone.CarryOut(t.Context(), db, given)
			code := problem.ExitOK
			if err != nil {
				code = problem.Of(err, problem.Scene{}).ExitCode
			}
			if code != tc.code {
				t.Errorf("CarryOut = %v, exit code %d, want %d", err, code, tc.code)
			}
			state, err := db.Provider(t.Context(), "acme/1")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := gate.Inspect(state, now); err != nil || !got.Frozen || got.Breaker != tc.held {
				t.Errorf("left is frozen %t with breaker %s, %v; want the freeze and breaker %s", got.Frozen, got.Breaker, err, tc.held)
			}
		})
	}
}

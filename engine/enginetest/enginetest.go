// Package enginetest has what tests of engine, and of what works through it, begin
// with: the state of a gate, and a run that somebody else had.
package enginetest

import (
	"testing"
	"time"

	"collect/collection"
	"collect/pacing/gate"
	"collect/store"
)

// GateState returns what a gate that nothing happened to saves.
func GateState(t testing.TB, p collection.Provider, now time.Time) []byte {
	t.Helper()
	g, err := gate.New(p, "", time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	return g.Snapshot(now)
}

// Run does something as a run of acme, by the account acme/1.
func Run(t *testing.T, db store.Store, id string, do func(store.Ledger) error) {
	t.Helper()
	l, err := db.Begin(t.Context(), collection.Run{ID: id, Connector: "acme", Domain: "acme/1", StartedAt: time.Now()}, nil)
	if err == nil {
		err = do(l)
	}
	if err == nil {
		err = l.Finish(t.Context(), collection.Run{Outcome: collection.Complete})
	}
	if err != nil {
		t.Fatal(err)
	}
}

package doctor

import (
	"path/filepath"
	"testing"
	"time"

	"collect/collection"
	"collect/engine/enginetest"
	"collect/store"
	"collect/store/sqlite"
)

// TestMemoryGivesWay: what doctor learned is written unless a run has begun
// meanwhile, which knows it and writes it itself, or something newer is there.
func TestMemoryGivesWay(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, now := collection.Provider{Name: "acme"}, time.Now()
	older, learned, newer := enginetest.GateState(t, p, now), enginetest.GateState(t, p, now.Add(time.Second)), enginetest.GateState(t, p, now.Add(time.Minute))
	m := &memory{db: db, of: probed{connector: "acme", domain: "acme/1"}, author: store.Audit{Who: "doctor", Why: "asked"}}
	stands := func(want []byte, when string) {
		t.Helper()
		if got, err := db.Provider(t.Context(), "acme/1"); err != nil || string(got) != string(want) {
			t.Errorf("%s: what is remembered is %s, %v, want %s", when, got, err, want)
		}
	}
	enginetest.Run(t, db, "run-1", func(l store.Ledger) error {
		if err := l.SaveProvider(t.Context(), "acme/1", older); err != nil {
			return err
		}
		defer stands(older, "while a run is on")
		return m.save(t.Context(), learned)
	})
	if err := m.save(t.Context(), learned); err != nil {
		t.Error(err)
	}
	stands(learned, "after it")
	enginetest.Run(t, db, "run-2", func(l store.Ledger) error { return l.SaveProvider(t.Context(), "acme/1", newer) })
	if err := m.save(t.Context(), learned); err != nil {
		t.Error(err)
	}
	stands(newer, "after another run")
}

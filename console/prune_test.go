package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"collect/collection"
	"collect/console"
	"collect/engine/storage"
	"collect/report"
	"collect/store"
)

// TestPrunable: what Settings counts is what the command with the same words removes, by
// age and by size.
func TestPrunable(t *testing.T) {
	path := acme(t)
	db, err := storage.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// Of four runs that found nothing the newest stays, and the slice that began the pass.
	for i := range 4 {
		run := collection.Run{ID: fmt.Sprintf("01JD7X000000000%d", i+1), Connector: "acme", Mode: collection.Forward, Lane: collection.Incremental, StartedAt: time.Now()}
		l, err := db.Begin(t.Context(), run, []collection.Stream{{Name: "issues"}})
		if err != nil {
			t.Fatal(err)
		}
		at := collection.Place{Stream: "issues", Lane: collection.Incremental}
		from, err := l.Checkpoint(t.Context(), at)
		if err == nil {
			_, err = l.Commit(t.Context(), collection.Slice{Place: at, From: from.Cursor, Next: collection.Cursor{Token: fmt.Sprint(i)}})
		}
		run.Outcome, run.EndedAt = collection.NothingNew, time.Now()
		if err := errors.Join(err, l.Finish(t.Context(), run)); err != nil {
			t.Fatal(err)
		}
	}
	later := func(c *console.Config) { c.Now = func() time.Time { return time.Now().Add(48 * time.Hour) } }
	before := time.Now().Add(24 * time.Hour)
	want, err := db.Prunable(t.Context(), "acme", store.Prune{Events: before, Runs: before, Slices: before, Quarantine: before})
	if err != nil || want.Slices != 2 || want.Runs != 3 {
		t.Fatalf("Prunable = %+v, %v, want three runs and two slices", want, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, path, later)
	b := s.signIn(t, console.Viewer)
	says(t, s.get(t, b, "/settings?days=1"), http.StatusOK, report.PrunedWords(want)+", of 1 connector.",
		"collect prune --all --events 1d --runs 1d --slices 1d --quarantine 1d", "are free", "collect prune --shrink")
	says(t, s.get(t, b, "/settings?mb=1"), http.StatusOK, "Nothing is that old, or more than that")
	says(t, s.get(t, b, "/settings"), http.StatusOK, "are free")
}

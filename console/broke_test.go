package console_test

import (
	"net/http"
	"testing"

	"collect/collection"
	"collect/console"
	"collect/engine/storage"
)

// TestWhatEndedARun: the pages of a run, of its connector and of all runs say which error ended it.
func TestWhatEndedARun(t *testing.T) {
	path := acme(t)
	db, _, err := storage.OpenForRun(t.Context(), path, storage.CreateInFolder)
	if err != nil {
		t.Fatal(err)
	}
	run := collection.Run{ID: "01JD7Y0000000000", Connector: "bees", Mode: collection.Forward, Lane: collection.Incremental, Domain: "bees/1"}
	l, err := db.Begin(t.Context(), run, nil)
	if err != nil {
		t.Fatal(err)
	}
	run.Outcome, run.ExitCode = collection.Failed, 74
	run.Metrics = collection.Metrics{Broke: "E0702", BrokeBy: "no space left for the database"}
	if err := l.Finish(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, path, nil)
	b := s.signIn(t, console.Viewer)
	const why = "E0702, no space left for the database"
	says(t, s.get(t, b, "/runs"), http.StatusOK, "Failed: "+why)
	says(t, s.get(t, b, "/runs/01JD7Y0000000000"), http.StatusOK, "bees did not come to its end: "+why)
	says(t, s.get(t, b, "/connectors/bees"), http.StatusOK, "You: "+why, "what ended the last run: "+why)
}

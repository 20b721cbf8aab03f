package cmd

import (
	"path/filepath"
	"testing"
	"time"

	"collect/collection"
	"collect/internal/process"
	"collect/report"
	"collect/store/sqlite"
)

// TestStatusOfARunUnderWay has how its requests fare, as of its last sign of
// life; and looking at it changes nothing of that.
func TestStatusOfARunUnderWay(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := collection.Run{ID: "01JD8Z6Q00000000", Connector: "tickets", Lane: collection.Incremental, Domain: "acme/1", Holder: process.This(), StartedAt: time.Now()}
	ledger, err := db.Begin(t.Context(), run, []collection.Stream{{Name: "tickets", Role: collection.List}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ledger.Finish(t.Context(), run) }()
	for _, want := range []int64{0, 7, 8} {
		if err := ledger.Beat(t.Context(), time.Now(), collection.Tally{}, collection.Metrics{TotalRequests: want, ActiveRequests: 1}); err != nil {
			t.Fatal(err)
		}
		s, err := report.StatusOf(t.Context(), db, "tickets", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		line := report.StatusLines([]report.Status{s}, time.Now())[0].Metrics
		if want == 0 && line != nil || want > 0 && (line == nil || line.Total != want || line.Active != 1 || line.Key != "acme/1") {
			t.Errorf("after %d requests: metrics %+v", want, line)
		}
	}
}

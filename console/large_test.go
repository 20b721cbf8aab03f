package console_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/console"
	"collect/console/telemetry"
	"collect/engine"
	"collect/engine/enginetest"
	"collect/engine/registry"
	"collect/engine/storage"
)

// large makes a store of many connectors, each with some gaps.
func large(tb testing.TB, path string, connectors, gaps int) {
	tb.Helper()
	db, _, err := storage.OpenForRun(tb.Context(), path, storage.CreateInFolder)
	if err != nil {
		tb.Fatal(err)
	}
	reasons := []collection.Reason{collection.BadPage, collection.RateLimited, collection.RequestCap, collection.Forbidden}
	for i := range connectors {
		name := fmt.Sprintf("connector-%03d", i)
		domain := fmt.Sprintf("provider-%d/%d", i%20, i%20)
		run := collection.Run{ID: fmt.Sprintf("01JD7X%010d", i), Connector: name, Mode: collection.Forward, Lane: collection.Incremental, Domain: domain, StartedAt: time.Now()}
		l, err := db.Begin(tb.Context(), run, []collection.Stream{{Name: "issues"}, {Name: "comments", Parent: "issues"}})
		if err != nil {
			tb.Fatal(err)
		}
		if err := l.SaveProvider(tb.Context(), domain, enginetest.GateState(tb, collection.Provider{Name: "provider", Ceilings: []collection.Ceiling{{Count: 20000, Per: 24 * time.Hour}}}, time.Now())); err != nil {
			tb.Fatal(err)
		}
		var owed []collection.Gap
		for j := range gaps / connectors {
			owed = append(owed, collection.Gap{Place: collection.Place{Stream: "comments", Partition: collection.Partition(fmt.Sprint(j)), Lane: collection.Incremental}, Shape: collection.SliceGap, Reason: reasons[j%len(reasons)], OpenedAt: time.Now()})
		}
		if len(owed) > 0 {
			if _, err := l.Defer(tb.Context(), true, owed...); err != nil {
				tb.Fatal(err)
			}
		}
		run.Outcome, run.ExitCode, run.EndedAt = collection.Blocked, 76, time.Now()
		if err := l.Finish(tb.Context(), run); err != nil {
			tb.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkPages is what the pages of a store with 500 connectors and 10,000 gaps take,
// each after a change of the store.
func BenchmarkPages(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	large(b, path, 500, 10_000)
	s := start(b, path, nil)
	viewer := s.signIn(b, console.Viewer)
	for _, page := range []string{"/", "/connectors", "/gaps", "/gaps?who=person&q=connector-42", "/runs", "/providers", "/connectors/connector-042"} {
		b.Run(cmp.Or(strings.Trim(page, "/"), "overview"), func(b *testing.B) {
			for b.Loop() {
				changed := time.Now() // so that nothing is shown again without a look
				if err := os.Chtimes(path, changed, changed); err != nil {
					b.Fatal(err)
				}
				answer := s.get(b, viewer, page)
				if answer.StatusCode != http.StatusOK {
					b.Fatal(answer.Status)
				}
				answer.Body.Close()
			}
		})
	}
}

// BenchmarkMetrics is what reading the facts of a scrape takes, of a store with 500
// connectors and 10,000 gaps.
func BenchmarkMetrics(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	large(b, path, 500, 10_000)
	db, err := storage.Look(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for b.Loop() {
		if _, err := telemetry.Look(b.Context(), db, engine.Meeting{Registry: &registry.Registry{}}, path, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"collect/collection"
	"collect/console"
	"collect/engine"
	"collect/engine/registry"
	"collect/engine/storage"
	"collect/fleet"
	"collect/internal/pgtest"
	"collect/internal/process"
	"collect/store"
)

// TestFleetPage: workers, what each has in hand, what waits, schedules and orders are shown
// where there is a fleet, and nowhere else.
func TestFleetPage(t *testing.T) {
	server, err := pgtest.Start("fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Remove)
	address := server.Fresh()
	db, _, err := storage.OpenForRun(t.Context(), address, storage.CreateInFolder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })

	s := start(t, address, nil)
	ana := s.signIn(t, console.Operator)
	const link = `href="/fleet"`
	if page := says(t, s.get(t, ana, "/"), http.StatusOK); strings.Contains(page, link) {
		t.Error("without a fleet, the navigation leads to its page")
	}
	says(t, s.get(t, ana, "/fleet"), http.StatusOK, "No worker was here yet")

	f, err := fleet.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	audit := func(why string) store.Audit {
		return store.Audit{Who: "ben", Why: why, Holder: process.This()}
	}
	if _, err := f.Schedule(t.Context(), fleet.Schedule{Connector: "cats", Cron: "17 * * * *", CatchUp: fleet.None}, audit("hourly <b>")); err != nil {
		t.Fatal(err)
	}
	if err := f.Enqueue(t.Context(), []string{"ants", "strange"}, audit("")); err != nil {
		t.Fatal(err)
	}
	says(t, s.get(t, ana, "/fleet"), http.StatusOK, link, "0 workers, 0 turns at work, 2 due", "Nobody works: start a worker", "17 * * * *")

	held, asked := make(chan struct{}), make(chan struct{}, 1)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-held
		fmt.Fprint(w, `{"items":[]}`)
	}))
	t.Cleanup(provider.Close)
	file := filepath.Join(t.TempDir(), "ants.yaml")
	text := fmt.Sprintf("connector: ants\nprovider: {name: ants, base_url: %q, pace: off}\nstreams:\n  things: {get: /, records: items, key: id, page: {none: true}}\n", provider.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := fleet.NewWorker(f, fleet.Config{
		Address: address, Registry: &registry.Registry{Entries: map[string]registry.Entry{"ants": {Use: file}}, Env: func(string) string { return "" }},
		Each:   engine.Config{Store: db, Options: engine.Options{Mode: collection.Forward, Lane: collection.Incremental}},
		Holder: process.This(), Version: "v1.2.3-test", Beat: 50 * time.Millisecond, Say: func(fleet.Event) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Do(context.WithoutCancel(t.Context())) }()
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("the worker does nothing in a minute")
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { // until a beat has told what it lacks
		v, _, err := fleet.Look(t.Context(), db)
		if err != nil || time.Since(begun) > time.Minute {
			t.Fatalf("the worker lacks nothing after a minute: %+v, %v", v.Workers, err)
		}
		if len(v.Workers) == 1 && v.Workers[0].Lacks["strange"].Why != "" {
			break
		}
	}
	page := says(t, s.get(t, ana, "/fleet"), http.StatusOK, "1 worker, 1 turn at work", w.Name(), "v1.2.3-test", "1 of 2", "In hand", `data-l="Lease lasts"`,
		`href="/connectors/strange"`, w.Name()+" leaves strange to others: no file of it here", "No worker can take strange", "hourly &lt;b&gt;", "collect it at 17 * * * *", "none is made up for")
	if hand := page[strings.Index(page, "<h2>In hand"):strings.Index(page, "<h2>Waiting")]; !strings.Contains(hand, `href="/connectors/ants"`) || strings.Contains(hand, "none") {
		t.Errorf("the turn of ants, with its lease, is not in hand:\n%s", hand)
	}
	says(t, s.get(t, ana, "/audit"), http.StatusOK, "ben", "collect it now, by the workers", "collect it at 17 * * * *", "hourly &lt;b&gt;")
	close(held)
	w.Drain()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFleetPageOfAFile: one machine with a file has no workers.
func TestFleetPageOfAFile(t *testing.T) {
	s := start(t, acme(t), nil)
	page := says(t, s.get(t, s.signIn(t, console.Viewer), "/fleet"), http.StatusOK, "No worker was here yet")
	if strings.Contains(page, `href="/fleet"`) {
		t.Error("the navigation leads to the fleet of a file")
	}
}

package fleet_test

import (
	"strings"
	"testing"
	"time"

	"collect/engine"
	"collect/engine/registry"
	"collect/fleet"
	"collect/report"
	"collect/report/problem"
)

// status returns how a connector stands, as every command has it.
func (p *place) status(name string) (report.Status, report.Standing) {
	p.Helper()
	db := p.store(false)
	defer db.Close()
	m := engine.Meeting{Registry: &registry.Registry{Entries: p.entries, Env: func(string) string { return "" }}, Fleet: fleet.Facts}
	now := time.Now()
	all, err := m.Statuses(p.Context(), db, name, now)
	if err != nil || len(all) != 1 {
		p.Fatalf("Statuses: %d, %v", len(all), err)
	}
	return all[0], all[0].Stands(now)
}

// full lets the server say that its disk is full to each write of some kind, such as "INSERT ON records".
func (p *place) full(write string) {
	p.Helper()
	err := fleet.Exec(p.Context(), p.fleet, `CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '53100'; END$$`)
	if err == nil {
		err = fleet.Exec(p.Context(), p.fleet, `CREATE TRIGGER full_disk BEFORE `+write+` FOR EACH ROW EXECUTE FUNCTION full_disk()`)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// TestATurnOnAFullDisk: a connector whose turn a full disk ended does not look as if it were collected: it has
// failed, why is known, and when a worker tries again.
func TestATurnOnAFullDisk(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	p.full("INSERT ON records")
	p.full("INSERT OR UPDATE ON traffic")
	w := p.start(nil)
	p.enqueue("ants")
	e := w.await(fleet.TurnEnded, "ants")
	s, st := p.status("ants")
	if again := time.Until(st.Until); st.State != report.Waiting || st.Needs != problem.NeedsTime || again < 30*time.Second || again > time.Minute {
		t.Errorf("ants stand %+v, want that they wait a minute for a worker", st)
	}
	if why := "E0702, no space left for the database while saving a slice; a worker tries again "; !strings.HasPrefix(st.Next, why) {
		t.Errorf("next is %q, want %q", st.Next, why)
	}
	if run := s.Newest(); run.ID != e.Run.ID || run.ExitCode != problem.ExitStorage {
		t.Errorf("the run is %s, %s, exit %d; want %s, failed, 74", run.ID, run.Outcome, run.ExitCode, e.Run.ID)
	}
	w.drain()
	if _, st := p.status("ants"); st.State != report.Stuck || st.Next != "you: E0702, no space left for the database while saving a slice" {
		t.Errorf("without a worker ants stand %+v, want that a person acts", st)
	}
}

// TestATurnWithoutAVerdict: where the store cannot even be told that a turn is over, its connector does not look as
// if it were collected: its worker lives, and has it in hand no more.
func TestATurnWithoutAVerdict(t *testing.T) {
	p := newPlace(t)
	p.add("ants", 3)
	p.hold = make(chan struct{})
	w := p.start(nil)
	p.enqueue("ants")
	w.await(fleet.TurnBegun, "ants")
	before := time.Now().UTC().Add(-20 * time.Second).Format("2006-01-02T15:04:05.000000Z")
	if err := fleet.Exec(t.Context(), p.fleet, `UPDATE runs SET started_at = $1, beat_at = $1`, before); err != nil {
		t.Fatal(err)
	}
	p.full("UPDATE ON runs") // a beat is one
	p.full("INSERT ON records")
	if _, st := p.status("ants"); st.State != report.Collecting {
		t.Errorf("ants stand %+v while a worker has them in hand, want that they are collected", st)
	}
	close(p.hold)
	w.await(fleet.TurnEnded, "ants")
	s, st := p.status("ants")
	if st.State != report.Waiting || !strings.HasPrefix(st.Next, "the last run is over, and how could not be stored: the log of its worker (pid ") || !strings.Contains(st.Next, "; a worker tries again ") {
		t.Errorf("ants stand %+v, want that they wait for a worker", st)
	}
	if text := s.RunWords(time.Now()); strings.Contains(text, "alive") || !strings.Contains(text, "how it ended could not be stored") {
		t.Errorf("the run is told as %q", text)
	}
	w.drain()
}
